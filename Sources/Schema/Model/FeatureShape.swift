/// The wire types of a feature's intents, view states and labels.
package struct FeatureShape: Sendable {
    /// The feature's name on the wire.
    package let name: String
    /// True if an instance is named by a key.
    package let isKeyed: Bool
    /// One sentence about the feature; may be empty.
    package let summary: String
    /// The view state.
    package let state: WireType
    /// The intents.
    package let intent: WireType
    /// The labels; `never` if the feature has none.
    package let label: WireType
    /// The types with names, in the order in which they were found. `State`, `Intent` and `Label` are the names of the
    /// three above, where they are such types.
    package let definitions: [TypeDefinition]

    /// Reads the types.
    ///
    /// Calls the types' `init(from:)` with made-up values; one that throws is taken to refuse them, and what it had asked
    /// for till then is known.
    package init(
        name: String, isKeyed: Bool, summary: String, state: any Decodable.Type, intent: any Decodable.Type,
        label: any Decodable.Type
    ) {
        (self.name, self.isKeyed, self.summary) = (name, isKeyed, summary)
        let recorder = TypeRecorder()
        let intentType = recorder.describe(intent)
        let stateType = recorder.describe(state)
        let labelType = recorder.describe(label)
        let found = FoundTypes(
            recorder.found, roots: [("State", stateType), ("Intent", intentType), ("Label", labelType)],
            taken: CodeNames.taken.union([CodeNames.upperCamel(name)]))
        self.state = found.resolved(stateType)
        self.intent = found.resolved(intentType)
        self.label = found.resolved(labelType)
        definitions = found.definitions
    }

    /// The three types by their names, in the order in which they are written.
    package var roots: [(name: String, type: WireType)] { [("State", state), ("Intent", intent), ("Label", label)] }

    /// The definitions that a type leads to, over any number of others.
    package func reachable(from type: WireType) -> Set<Int> {
        var reached: Set<Int> = []
        var open = type.references
        while let index = open.popLast() {
            guard reached.insert(index).inserted else { continue }
            open += definitions[index].references
        }
        return reached
    }
}

extension WireType {
    /// The definitions that it names.
    var references: [Int] {
        switch self {
        case .any, .never, .boolean, .integer, .number, .string: []
        case .array(let type), .dictionary(let type), .nullable(let type): type.references
        case .named(let index): [index]
        }
    }

    /// The type with its definitions' numbers changed.
    func mapped(_ change: (Int) -> WireType) -> WireType {
        switch self {
        case .any, .never, .boolean, .integer, .number, .string: self
        case .array(let type): .array(type.mapped(change))
        case .dictionary(let type): .dictionary(type.mapped(change))
        case .nullable(let type): .nullable(type.mapped(change))
        case .named(let index): change(index)
        }
    }
}

extension TypeDefinition {
    /// The definitions that it names.
    var references: [Int] {
        switch kind {
        case .cases(let cases): cases.flatMap { $0.members.flatMap(\.type.references) }
        case .object(let members): members.flatMap(\.type.references)
        case .values: []
        case .alias(let type): type.references
        }
    }

    /// The definition with the types in it changed.
    func mapped(_ change: (WireType) -> WireType) -> TypeDefinition {
        func changed(_ members: [Member]) -> [Member] {
            members.map { member in
                var member = member
                member.type = change(member.type)
                return member
            }
        }
        var result = self
        switch kind {
        case .cases(let cases):
            result.kind = .cases(
                cases.map { Case(name: $0.name, members: changed($0.members), isComplete: $0.isComplete) })
        case .object(let members): result.kind = .object(changed(members))
        case .values: break
        case .alias(let type): result.kind = .alias(change(type))
        }
        return result
    }
}
