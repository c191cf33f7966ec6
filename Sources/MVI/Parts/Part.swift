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

    /// Identifies the part among those that its key path may have: when one with another id takes its place, its work
    /// ends. By default the `id` of a part that is `Identifiable`, and nil for others, whose work goes on.
    var partID: (any Hashable & Sendable)? { get }
}

extension Part where View == Self {
    /// All of it.
    public var view: Self { self }
}

extension Part {
    /// Nil.
    public var partID: (any Hashable & Sendable)? { nil }
}

extension Part where Self: Identifiable, ID: Sendable {
    /// The `id`.
    public var partID: (any Hashable & Sendable)? { id }
}

/// Where a part is in its feature: how it is read, and what its messages become.
struct PartPlace<F: Feature, P: Part>: Sendable {
    /// Nil if the part is gone.
    let read: @Sendable (F.State) -> P?
    let message: @Sendable (P.Message) -> F.Message
    let name: PartName

    /// The place of a part that a state has at a key path.
    ///
    /// - Parameters:
    ///   - state: the present one, which says which part it is.
    ///   - isOptional: whether a state may have none there.
    ///   - find: returns the part at the path.
    init(
        _ path: any Hashable & Sendable, in state: F.State, isOptional: Bool,
        _ message: @escaping @Sendable (P.Message) -> F.Message, find: @escaping @Sendable (F.State) -> P?
    ) {
        let id = find(state)?.partID
        self.message = message
        read = { state in find(state).flatMap { $0.partID.hashable == id.hashable ? $0 : nil } }
        name = PartName(path, id, canLeave: isOptional || id != nil) { (state: F.State) in
            find(state).map { [$0.partID.hashable] } ?? []
        }
    }

    /// The place of a part of a list.
    init(
        _ id: P.ID, in list: any KeyPath<F.State, Parts<P>> & Sendable,
        _ message: @escaping @Sendable (P.ID, P.Message) -> F.Message
    ) where P: Identifiable, P.ID: Sendable {
        self.message = { message(id, $0) }
        read = { $0[keyPath: list][id: id] }
        name = PartName(list, id, canLeave: true) { (state: F.State) in
            Set(state[keyPath: list].lazy.map { AnyHashable($0.id) })
        }
    }
}

extension (any Hashable & Sendable)? {
    fileprivate var hashable: AnyHashable? { map { AnyHashable($0) } }
}

/// The part to which work and its id belong: parts need not know each other's ids, and work ends with its part.
@usableFromInline
package final class PartName: Hashable, Sendable {
    /// The key path of the part or of its list.
    private let path: any Hashable & Sendable
    /// The part's id; nil for a part that has none.
    private let id: (any Hashable & Sendable)?
    /// Whether a state may be without it.
    let canLeave: Bool
    private let ids: @Sendable (any Sendable) -> Set<AnyHashable?>

    /// - Parameter ids: those of the parts that a state has at the path, nil for one without an id.
    fileprivate init<State: Sendable>(
        _ path: any Hashable & Sendable, _ id: (any Hashable & Sendable)?, canLeave: Bool,
        ids: @escaping @Sendable (State) -> Set<AnyHashable?>
    ) {
        (self.path, self.id, self.canLeave) = (path, id, canLeave)
        self.ids = { ($0 as? State).map(ids) ?? [] }
    }

    var description: String? { id.map { "\($0)" } }

    /// Those of the parts that a state of the feature has not. The ids at each key path are read once.
    static func gone(_ parts: Set<PartName>, from state: any Sendable) -> Set<PartName> {
        var present: [(path: AnyHashable, ids: Set<AnyHashable?>)] = []
        return parts.filter { part in
            guard part.canLeave else { return false }
            let path = AnyHashable(part.path)
            if let found = present.first(where: { $0.path == path }) { return !found.ids.contains(part.id.hashable) }
            let ids = part.ids(state)
            present.append((path, ids))
            return !ids.contains(part.id.hashable)
        }
    }

    @usableFromInline
    package static func == (left: PartName, right: PartName) -> Bool {
        left === right || AnyHashable(left.path) == AnyHashable(right.path) && left.id.hashable == right.id.hashable
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        if let id { hasher.combine(id) } else { hasher.combine(path) }
    }
}
