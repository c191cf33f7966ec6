/// A part of a feature's state with its own messages, reducer and view, such as a section of a screen or a row of a
/// list.
///
/// The part is its own state: a feature holds it as a member, or several in a ``Parts`` list, and has a message case
/// for it:
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
/// `turn.part(\.fee, Message.fee) { … }` runs code that depends only on the part.
public protocol Part: Codable, Equatable, Sendable {
    /// An event of the part.
    associatedtype Message: Sendable
    /// The value that clients see. By default the whole part.
    associatedtype View: Codable & Equatable & Sendable = Self

    /// Applies a message. Must be pure and fast, like a feature's `reduce`.
    mutating func reduce(_ message: Message)
    /// The value that clients see. Pure.
    var view: View { get }

    /// Identifies the part among the possible parts at its key path. If a part with another id takes its place, its
    /// work ends. By default the `id` of an `Identifiable` part, and nil for others, whose work goes on.
    var partID: (any Hashable & Sendable)? { get }
}

extension Part where View == Self {
    /// The whole part.
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
