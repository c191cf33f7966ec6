/// The part that work and its id belong to. Ids of different parts do not collide, and work ends with its part.
@usableFromInline
package final class PartName: Hashable, Sendable {
    /// The surrounding part; nil for a part of the feature's state.
    private let outer: PartName?
    /// The key path of the part or of its list.
    private let path: any Hashable & Sendable
    /// The part's id; nil for a part that has none.
    private let id: (any Hashable & Sendable)?
    /// True if the part can be absent from a state.
    let canLeave: Bool
    /// Returns the ids of the parts at the path in a state, nil for parts without an id.
    private let ids: @Sendable (any Sendable) -> Set<AnyHashable?>

    init<State: Sendable>(
        _ path: any Hashable & Sendable, _ id: (any Hashable & Sendable)?, canLeave: Bool,
        ids: @escaping @Sendable (State) -> Set<AnyHashable?>
    ) {
        (outer, self.path, self.id, self.canLeave) = (nil, path, id, canLeave)
        self.ids = { ($0 as? State).map(ids) ?? [] }
    }

    /// Creates the name of a part inside another part.
    init<State: Sendable, Outer: Part>(
        _ name: PartName, within outer: PartName, read: @escaping @Sendable (State) -> Outer?
    ) {
        self.outer = outer
        (path, id, canLeave) = (name.path, name.id, name.canLeave || outer.canLeave)
        ids = { ($0 as? State).flatMap(read).map(name.ids) ?? [] }
    }

    /// The part's id, then those of the surrounding parts; nil if none has one.
    var description: String? {
        let own = id.map { "\($0)" }
        guard let outer = outer?.description else { return own }
        return own.map { "\($0) in \(outer)" } ?? outer
    }

    /// Returns the parts that are absent from a state of the feature. The ids at each path are read once.
    static func gone(_ parts: Set<PartName>, from state: any Sendable) -> Set<PartName> {
        var present: [Siblings: Set<AnyHashable?>] = [:]
        return parts.filter { part in
            guard part.canLeave else { return false }
            let siblings = Siblings(outer: part.outer, path: AnyHashable(part.path))
            let ids = present[siblings] ?? part.ids(state)
            present[siblings] = ids
            return !ids.contains(part.id.hashable)
        }
    }

    /// The parts at one key path of a state or of a surrounding part.
    private struct Siblings: Hashable {
        let outer: PartName?
        let path: AnyHashable

        /// Does not hash the path, which is slow; a type has few paths.
        func hash(into hasher: inout Hasher) { hasher.combine(outer) }
    }

    @usableFromInline
    package static func == (left: PartName, right: PartName) -> Bool {
        left === right
            || left.id.hashable == right.id.hashable && AnyHashable(left.path) == AnyHashable(right.path)
                && left.outer == right.outer
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        if let id { hasher.combine(id) } else { hasher.combine(path) }
        hasher.combine(outer)
    }
}

extension (any Hashable & Sendable)? {
    var hashable: AnyHashable? { map { AnyHashable($0) } }
}
