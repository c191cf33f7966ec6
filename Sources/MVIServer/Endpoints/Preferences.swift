import MicroHTTP

/// The preferences of `Prefer` (RFC 7240). Unknown and malformed preferences are ignored, as section 2 requires.
package struct Preferences: Sendable, Equatable {
    package enum Representation: String, Sendable {
        case minimal
        case representation
    }

    package var respondAsync = false
    package var `return`: Representation?
    /// The requested wait in seconds.
    package var wait: Int?
    /// A preference of this server: a refused stream answers with a problem, not with 200.
    package var problem = false

    /// True if an intent may be answered with the view state; see `AnswerForm`.
    var wantsState: Bool { wait != nil || self.return == .representation }

    init() {}

    package init(_ fields: HeaderFields) {
        guard fields.contains("prefer") else { return }
        // Repeated fields are one list (RFC 9110 section 5.3).
        var scanner = FieldScanner(fields.list(of: "prefer"))
        var seen: Set<String> = []
        // Real clients send fewer; further preferences are ignored.
        for _ in 0..<32 where !scanner.isAtEnd {
            scanner.skipBlanks()
            if let name = scanner.word()?.lowercased() {
                scanner.skipBlanks()
                var value: String?
                if scanner.accept("=") {
                    scanner.skipBlanks()
                    value = scanner.word(orQuoted: true)
                }
                // "If any preference is specified more than once, only the first instance is to be considered."
                if seen.insert(name).inserted { set(name, value) }
            }
            // Skips parameters and malformed text.
            scanner.skip(to: [UInt8(ascii: ",")])
            _ = scanner.accept(",")
        }
    }

    private mutating func set(_ name: String, _ value: String?) {
        switch name {
        case "respond-async": respondAsync = true
        case "return": `return` = value.flatMap { Representation(rawValue: $0.lowercased()) }
        case "wait":
            guard let value, !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
            wait = Int(value) ?? .max
        case "problem": problem = true
        default: break
        }
    }
}
