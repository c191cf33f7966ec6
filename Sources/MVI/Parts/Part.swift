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
