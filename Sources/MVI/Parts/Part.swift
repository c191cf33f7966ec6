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
    /// An input of `reduce`: something that happened to the part.
    associatedtype Message: Sendable
    /// The value that clients see. By default the part.
    associatedtype View: Codable & Equatable & Sendable = Self

    /// Makes the next state. Pure, quick and total, as a feature's `reduce`.
    mutating func reduce(_ message: Message)
    /// The value that clients see. Pure.
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
