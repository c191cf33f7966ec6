/// Where a part is in its feature: how it is read, and what its messages become.
struct PartPlace<F: Feature, P: Part>: Sendable {
    /// Nil if the part is gone.
    let read: @Sendable (F.State) -> P?
    let message: @Sendable (P.Message) -> F.Message
    let scope: WorkID.Scope
}

extension WorkID {
    /// The part to whose work an id belongs, so that parts need not know each other's ids.
    final class Scope: Hashable, Sendable {
        /// The key path of the part or of its list.
        private let path: any Hashable & Sendable
        /// The part's id in a list; nil for a part that is in none.
        private let id: (any Hashable & Sendable)?

        init(_ path: any Hashable & Sendable, _ id: (any Hashable & Sendable)? = nil) {
            self.path = path
            self.id = id
        }

        var description: String? { id.map { "\($0)" } }

        static func == (left: Scope, right: Scope) -> Bool {
            left === right || AnyHashable(left.path) == AnyHashable(right.path) && left.hashableID == right.hashableID
        }

        private var hashableID: AnyHashable? { id.map { AnyHashable($0) } }

        func hash(into hasher: inout Hasher) {
            hasher.combine(path)
            if let id { hasher.combine(id) }
        }
    }
}
