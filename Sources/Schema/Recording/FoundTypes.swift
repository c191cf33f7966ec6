/// Converts the types that a recorder found to a feature's definitions. Aliases are replaced by their types, and the
/// others get names.
struct FoundTypes {
    private(set) var definitions: [TypeDefinition] = []
    /// The indices of found types in the definitions.
    private var places: [Int: Int] = [:]
    /// The replacements of found types.
    private var aliases: [Int: WireType] = [:]

    /// - Parameters:
    ///   - roots: the feature's three types, with the names that they get if they are in the list.
    ///   - taken: names that types must not have.
    init(_ found: [TypeRecorder.Found], roots: [(name: String, type: WireType)], taken: Set<String>) {
        for (index, type) in found.enumerated() {
            if case .alias(let alias) = type.kind, !Self.leadsToItself(index, found) { aliases[index] = alias }
        }
        let kept = found.indices.filter { aliases[$0] == nil }
        for (place, index) in kept.enumerated() { places[index] = place }
        var given: [Int: String] = [:]
        for root in roots {
            if case .named(let place) = resolved(root.type), given[place] == nil { given[place] = root.name }
        }
        let names = TypeName.distinct(
            kept.map { found[$0].typeName }, given: given, taken: taken.union(roots.map(\.name)))
        definitions = zip(kept, names).map { index, name in
            TypeDefinition(
                name: name, kind: found[index].kind, isComplete: found[index].isComplete, id: found[index].id,
                typeName: found[index].typeName
            ).mapped(resolved)
        }
    }

    /// Returns a type with its found types replaced by definitions.
    func resolved(_ type: WireType) -> WireType {
        type.mapped { index in
            if let place = places[index] { return .named(place) }
            return aliases[index].map(resolved) ?? .any
        }
    }

    /// Returns true if the aliases of a type form a cycle.
    private static func leadsToItself(_ start: Int, _ found: [TypeRecorder.Found]) -> Bool {
        var seen: Set<Int> = []
        var open = [start]
        while let index = open.popLast() {
            guard case .alias(let type) = found[index].kind else { continue }
            for next in type.references {
                if next == start { return true }
                if seen.insert(next).inserted { open.append(next) }
            }
        }
        return false
    }
}
