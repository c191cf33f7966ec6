/// The part to which work and its id belong: parts need not know each other's ids, and work ends with its part.
@usableFromInline
package final class PartName: Hashable, Sendable {
    /// The part that it is in; nil for a part of the feature's state.
    private let outer: PartName?
    /// The key path of the part or of its list.
    private let path: any Hashable & Sendable
    /// The part's id; nil for a part that has none.
    private let id: (any Hashable & Sendable)?
    /// True if a state may be without it.
    let canLeave: Bool
    /// The ids of the parts that a state has at the path, nil for one without an id.
    private let ids: @Sendable (any Sendable) -> Set<AnyHashable?>

    init<State: Sendable>(
        _ path: any Hashable & Sendable, _ id: (any Hashable & Sendable)?, canLeave: Bool,
        ids: @escaping @Sendable (State) -> Set<AnyHashable?>
    ) {
        (outer, self.path, self.id, self.canLeave) = (nil, path, id, canLeave)
        self.ids = { ($0 as? State).map(ids) ?? [] }
    }

    /// The name of a part of another part.
    init<State: Sendable, Outer: Part>(
        _ name: PartName, within outer: PartName, read: @escaping @Sendable (State) -> Outer?
    ) {
        self.outer = outer
        (path, id, canLeave) = (name.path, name.id, name.canLeave || outer.canLeave)
        ids = { ($0 as? State).flatMap(read).map(name.ids) ?? [] }
    }

    /// Its id, then those of the parts that it is in; nil if none has one.
    var description: String? {
        let own = id.map { "\($0)" }
        guard let outer = outer?.description else { return own }
        return own.map { "\($0) in \(outer)" } ?? outer
    }

    /// Those of the parts that a state of the feature has not. The ids at each place are read once.
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

    /// The parts at one key path of a state or of an outer part.
    private struct Siblings: Hashable {
        let outer: PartName?
        let path: AnyHashable

        /// Leaves out the path, which takes long: there are few of them in one type.
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
