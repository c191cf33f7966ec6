/// A part of a feature's state with messages, a reducer and a view of its own: a section of a screen, a row of a list.
///
/// The part is its own state, so a feature holds it as a member, or many of them in a ``Parts`` list, and gives its
/// messages a case:
///
/// ```swift
/// struct State: Codable, Equatable, Sendable { var fee = FeeSection() }
/// enum Message: Sendable { case fee(FeeSection.Message) }
/// func reduce(_ state: inout State, _ message: Message) {
///     switch message {
///     case .fee(let message): state.fee.reduce(message)
///     }
/// }
/// ```
///
/// `turn.part(\.fee, Message.fee) { … }` runs code that knows the part alone.
public protocol Part: Codable, Equatable, Sendable {
    /// What happened to it.
    associatedtype Message: Sendable
    /// What clients see of it. By default all of it.
    associatedtype View: Codable & Equatable & Sendable = Self

    /// Makes the next state. Pure, quick and total, as a feature's `reduce`.
    mutating func reduce(_ message: Message)
    /// What clients see. Pure.
    var view: View { get }
}

extension Part where View == Self {
    /// All of it.
    public var view: Self { self }
}

/// Where a part is in its feature: how it is read, and what its messages become.
struct PartPlace<F: Feature, P: Part>: Sendable {
    /// Nil if the part is gone.
    let read: @Sendable (F.State) -> P?
    let message: @Sendable (P.Message) -> F.Message
    let name: PartName

    /// - Parameters:
    ///   - path: the key path of the part or of its list.
    ///   - id: the part's, if it has one.
    ///   - ids: those of the parts that a state has at the path.
    init(
        _ path: any Hashable & Sendable, id: (any Hashable & Sendable)? = nil,
        ids: @escaping @Sendable (F.State) -> Set<AnyHashable> = { _ in [] },
        read: @escaping @Sendable (F.State) -> P?, message: @escaping @Sendable (P.Message) -> F.Message
    ) {
        (self.read, self.message) = (read, message)
        name = PartName(path, id) { state in (state as? F.State).map(ids) ?? [] }
    }
}

/// The part to which work and its id belong: parts need not know each other's ids, and work ends with its part.
@usableFromInline
package final class PartName: Hashable, Sendable {
    /// The key path of the part or of its list.
    private let path: any Hashable & Sendable
    /// The part's id; nil for a part that has none.
    private let id: (any Hashable & Sendable)?
    private let ids: @Sendable (any Sendable) -> Set<AnyHashable>

    fileprivate init(
        _ path: any Hashable & Sendable, _ id: (any Hashable & Sendable)?,
        _ ids: @escaping @Sendable (any Sendable) -> Set<AnyHashable>
    ) {
        (self.path, self.id, self.ids) = (path, id, ids)
    }

    var description: String? { id.map { "\($0)" } }

    /// Whether it can leave a state: a part without an id is always there.
    var canLeave: Bool { id != nil }

    /// Those of the parts that a state of the feature has not. The ids at each key path are read once.
    static func gone(_ parts: Set<PartName>, from state: any Sendable) -> Set<PartName> {
        var present: [(path: AnyHashable, ids: Set<AnyHashable>)] = []
        return parts.filter { part in
            guard let id = part.hashableID else { return false }
            let path = AnyHashable(part.path)
            if let found = present.first(where: { $0.path == path }) { return !found.ids.contains(id) }
            let ids = part.ids(state)
            present.append((path, ids))
            return !ids.contains(id)
        }
    }

    @usableFromInline
    package static func == (left: PartName, right: PartName) -> Bool {
        left === right || AnyHashable(left.path) == AnyHashable(right.path) && left.hashableID == right.hashableID
    }

    private var hashableID: AnyHashable? { id.map { AnyHashable($0) } }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        if let id { hasher.combine(id) } else { hasher.combine(path) }
    }
}
