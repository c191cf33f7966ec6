/// One screen's logic, written once: what clients may intend, what they see, what happens in between.
///
/// The flow is `intent → execute → messages → reduce → state → labels`. `execute` holds the side effects and never
/// changes state; `reduce` is pure and the only place where state changes. What one accepted intent, action or step of
/// launched work does synchronously is a *turn*, and a turn is a transaction: it is run, committed, and only then
/// shown, answered, and followed by the work that it launched.
///
/// A feature is a value that holds the services it needs. One value serves many stores at once, hence `Sendable`.
/// A feature without effects needs a state, an intent, its examples and `reduce`; all else has a default:
///
/// ```swift
/// struct Counter: Feature {
///     struct State: Codable, Equatable, Sendable { var count = 0 }
///     enum Intent: Codable, Sendable { case increment, add(amount: Int) }
///     static let examples: [Intent] = [.increment, .add(amount: 5)]
///     let initialState = State()
///     func reduce(_ state: inout State, _ intent: Intent) {
///         switch intent {
///         case .increment: state.count += 1
///         case .add(let amount): state.count += amount
///         }
///     }
/// }
/// ```
public protocol Feature: Sendable {
    /// The value that the store keeps. Only `reduce` changes it.
    associatedtype State: Codable & Equatable & Sendable
    /// A request of a client.
    associatedtype Intent: Codable & Sendable
    /// A request of the feature to itself, visible to middleware. None by default.
    associatedtype Action: Sendable = Never
    /// An input of `reduce`: something that happened. By default the intents are the messages. Only recorded turns
    /// need `Codable` messages and actions.
    associatedtype Message: Sendable = Intent
    /// One-off events for clients: a toast, a navigation. None by default.
    associatedtype Label: Codable & Equatable & Sendable = Never
    /// The value that clients see. By default the state.
    associatedtype ViewState: Codable & Equatable & Sendable = State

    /// The feature's name on the wire, `[a-z][a-z0-9-]{0,47}`. By default the type's name, `LessonDetail` becoming
    /// `lesson-detail`.
    static var name: String { get }
    /// One sentence for the list of features.
    static var summary: String { get }
    /// One value for each case of `Intent`: they describe the feature to clients, name the known intents where an
    /// unknown one is refused, and are checked against the JSON mapping when a server starts.
    static var examples: [Intent] { get }
    /// One value for each case of `Label`, for the feature's description.
    static var labelExamples: [Label] { get }

    /// The version of `State`'s stored form. Raise it when a stored state could not be read as the present one any more
    /// (a member renamed, or given another type or meaning), and add a migration from the version before. A member that
    /// is new needs none: what a stored state lacks comes from `initialState`.
    static var schemaVersion: Int { get }
    /// The migrations of states that were stored under older schema versions.
    static var migrations: [Migration<State>] { get }

    /// The state of a store that was never started before.
    var initialState: State { get }
    /// The middleware of this feature's stores, beside that of the server.
    var middleware: Middleware<Self> { get }

    /// Called once each time a store starts, before the first intent. A store that comes back from a journal is `.restored`
    /// and finds its old state: one saved as "loading" must not stay so for ever.
    ///
    /// A throw is reported and leaves the store usable.
    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws
    /// Called when somebody signs in to the session that the store belongs to, which was anonymous: once, in a turn of its
    /// own. A store that is made later knows by `turn.session.subject`; so does one after a crash just then, in
    /// `bootstrap`.
    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws
    /// Returns a check that runs before an intent is enqueued, such as one that asks another system whether a coupon
    /// is valid; nil, the default, for none.
    ///
    /// The check that is returned runs while other intents go on, for 5 s at most. It may refuse the intent, or have an
    /// action performed in its place that carries what it found.
    func check(_ intent: Intent) -> Check?
    /// Decides what an intent does: dispatches messages, publishes labels, launches work. Must not block.
    ///
    /// A throw undoes the turn: nothing of it is kept or shown, the caller is told, `onFailure` is called. A `Refusal` is
    /// an answer and no failure: `onFailure` is not called.
    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws
    /// The same for an action that a turn sent.
    func perform(_ action: Action, _ turn: inout Turn<Self>) throws
    /// Called in each turn that had messages, after its handler and actions, so that one place decides what follows from a
    /// change, whichever message made it: compare what matters in `before` with `turn.state`. What it does belongs to the
    /// turn. If its own messages change the state it is called again, with the state before those; after 16 calls the turn
    /// fails.
    ///
    /// ```swift
    /// func onChange(from before: State, _ turn: inout Turn<Self>) {
    ///     if turn.state.filter != before.filter { turn.dispatch(.pageChanged(1)) }
    /// }
    /// ```
    ///
    /// A throw undoes the turn, as in `execute`.
    func onChange(from before: State, _ turn: inout Turn<Self>) throws
    /// The next state. Pure, quick, total: it cannot throw and must not read clocks, randomness or services.
    func reduce(_ state: inout State, _ message: Message)
    /// Returns the value that clients see of a state. Pure.
    func view(_ state: State) -> ViewState
    /// Called in a turn of its own after a throw in `bootstrap`, `execute`, `perform` or launched work, so that the
    /// feature can show it.
    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>)
    /// Returns how long a label waits for a client that is not connected. By default 5 minutes.
    func timeToLive(of label: Label) -> Duration
}

extension Feature {
    /// The type's name in lower case with hyphens.
    public static var name: String { kebabCase(String(describing: Self.self)) }
    /// Nothing.
    public static var summary: String { "" }
    /// None.
    public static var labelExamples: [Label] { [] }
    /// 1.
    public static var schemaVersion: Int { 1 }
    /// None.
    public static var migrations: [Migration<State>] { [] }
    /// None.
    public var middleware: Middleware<Self> { Middleware() }

    /// Does nothing.
    public func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws {}
    /// Does nothing.
    public func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws {}
    /// Nothing.
    @inlinable
    public func check(_ intent: Intent) -> Check? { nil }
    /// Does nothing.
    @inlinable
    public func onChange(from before: State, _ turn: inout Turn<Self>) throws {}
    /// Shows nothing.
    public func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {}
    /// 5 minutes.
    public func timeToLive(of label: Label) -> Duration { .seconds(300) }
}

extension Feature where Message == Intent {
    /// A reducer is enough: the intent is the message.
    @inlinable
    public func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws { turn.dispatch(intent) }
}

extension Feature where Action == Never {
    /// Never called: there are no actions.
    public func perform(_ action: Never, _ turn: inout Turn<Self>) throws {}
}

extension Feature where ViewState == State {
    /// All of the state.
    @inlinable
    public func view(_ state: State) -> State { state }
}

/// The start of a new or a restored store.
public enum StartReason: Sendable, Equatable {
    /// It begins with the feature's initial state.
    case new
    /// It goes on with the state that was kept.
    case restored
}

/// `LessonDetail` → `lesson-detail`; a run of capitals is one word (`URLList` → `url-list`).
package func kebabCase(_ typeName: String) -> String {
    // A generic type's arguments are no part of the name.
    let letters = Array(typeName.prefix { $0 != "<" })
    var result = ""
    for (index, letter) in letters.enumerated() {
        let startsWord =
            letter.isUppercase && index > 0
            && (!letters[index - 1].isUppercase || (index + 1 < letters.count && letters[index + 1].isLowercase))
        if startsWord { result.append("-") }
        result.append(contentsOf: letter.lowercased())
    }
    return result
}
