/// Looks at the keys of the cases that one example encodes, before any other value can show what they lack.
final class KeyCheck {
    static let twoUnlabelled = "it has two values without a label; give them labels"
    static let labelledType = "it has a value labelled 'type', which names the case; rename the value"
    static let twoValues =
        "it has a value labelled 'value' and one without a label, which is called so too; rename the first"

    /// The case of the example itself.
    private(set) var firstCase: String?
    /// The case that has a problem, which may be one of an enum inside.
    private(set) var failedCase: String?

    /// What keeps a case off the wire, going by all members that it may have.
    func problem<Key: CodingKey>(of name: String, keys: Key.Type) -> String? {
        firstCase = firstCase ?? name
        let unlabelled = (0..<32).count { Key(stringValue: "_\($0)") != nil }
        let problem: String? =
            if unlabelled > 1 {
                Self.twoUnlabelled
            } else if Key(stringValue: EnumShape.discriminator) != nil {
                Self.labelledType
            } else if unlabelled > 0, Key(stringValue: EnumShape.unlabelled) != nil {
                Self.twoValues
            } else {
                nil
            }
        if problem != nil { failedCase = failedCase ?? name }
        return problem
    }
}
