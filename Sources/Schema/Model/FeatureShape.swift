/// The JSON form of a feature's intents, view states and labels, and of what clients see of each other.
package struct FeatureShape: Sendable {
    /// The feature's name in the API.
    package let name: String
    /// True if an instance has a key.
    package let isKeyed: Bool
    /// A sentence about the feature; may be empty.
    package let summary: String
    /// The view state.
    package let state: WireType
    /// The intents.
    package let intent: WireType
    /// The labels; `never` if the feature has none.
    package let label: WireType
    /// The shape of presence; nil if clients see nothing of each other.
    package let presence: WireType?
    /// The named types, in the order in which they were found. If the types above are named types, they are called
    /// `State`, `Intent`, `Label` and `Presence`.
    package let definitions: [TypeDefinition]

    /// Reads the types.
    ///
    /// Calls the types' `init(from:)` with sample values. A type that throws rejects the values; the requests that it
    /// made before are known.
    package init(
        name: String, isKeyed: Bool, summary: String, state: any Decodable.Type, intent: any Decodable.Type,
        label: any Decodable.Type, presence: (any Decodable.Type)? = nil
    ) {
        (self.name, self.isKeyed, self.summary) = (name, isKeyed, summary)
        let recorder = TypeRecorder()
        let intentType = recorder.describe(intent)
        let stateType = recorder.describe(state)
        let labelType = recorder.describe(label)
        let presenceType = presence.map { recorder.describe($0) }
        let roots = [("State", stateType), ("Intent", intentType), ("Label", labelType)]
        let found = FoundTypes(
            recorder.found, roots: roots + (presenceType.map { [("Presence", $0)] } ?? []),
            taken: CodeNames.taken.union([CodeNames.upperCamel(name)]))
        self.state = found.resolved(stateType)
        self.intent = found.resolved(intentType)
        self.label = found.resolved(labelType)
        self.presence = presenceType.map { found.resolved($0) }
        definitions = found.definitions
    }

    /// The types above by their names, in the order of the output.
    package var roots: [(name: String, type: WireType)] {
        [("State", state), ("Intent", intent), ("Label", label)] + (presence.map { [("Presence", $0)] } ?? [])
    }

    /// Returns the definitions that a type refers to, directly or indirectly.
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
    /// The definitions that the type names.
    var references: [Int] {
        switch self {
        case .any, .unfit, .never, .boolean, .integer, .number, .decimal, .duration, .string: []
        case .array(let type), .dictionary(let type), .nullable(let type): type.references
        case .named(let index): [index]
        }
    }

    /// Returns true if the type, or a type in it without a definition of its own, passes a test.
    func contains(_ test: (WireType) -> Bool) -> Bool {
        if test(self) { return true }
        return switch self {
        case .array(let type), .dictionary(let type), .nullable(let type): type.contains(test)
        default: false
        }
    }

    /// Returns the type with the numbers of its definitions changed.
    func mapped(_ change: (Int) -> WireType) -> WireType {
        switch self {
        case .any, .unfit, .never, .boolean, .integer, .number, .decimal, .duration, .string: self
        case .array(let type): .array(type.mapped(change))
        case .dictionary(let type): .dictionary(type.mapped(change))
        case .nullable(let type): .nullable(type.mapped(change))
        case .named(let index): change(index)
        }
    }
}

extension TypeDefinition {
    /// The types in the definition.
    var types: [WireType] {
        switch kind {
        case .cases(let cases): cases.flatMap { $0.members.map(\.type) }
        case .object(let members): members.map(\.type)
        case .values: []
        case .alias(let type): [type]
        }
    }

    /// The definitions that the definition names.
    var references: [Int] { types.flatMap(\.references) }

    /// Returns the definition with its types changed.
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
