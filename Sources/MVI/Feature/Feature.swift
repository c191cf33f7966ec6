/// The logic of one screen: the intents that clients send, the state that they see, and the steps in between.
///
/// The flow is `intent → execute → messages → reduce → state → labels`. `execute` contains the side effects and never
/// changes state. `reduce` is pure and the only place where state changes. A *turn* is the synchronous processing of
/// one intent, action or step of launched work. It is a transaction: after its commit the state is shown to clients,
/// the request is answered and the launched work starts.
///
/// A feature is a value that holds the services it needs. It serves many stores concurrently, so it is `Sendable`. A
/// feature without effects needs a state, an intent, its examples and `reduce`; the rest has defaults:
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
    /// The store's state. Only `reduce` changes it.
    associatedtype State: Codable & Equatable & Sendable
    /// A request of a client; `Never` if clients can send none.
    associatedtype Intent: Codable & Sendable
    /// An input that the feature sends to itself through the store, visible to middleware. None by default.
    associatedtype Action: Sendable = Never
    /// A value that `reduce` applies to the state. By default the intents are the messages. Recorded turns require
    /// messages and actions that are `Codable`; nothing else does.
    associatedtype Message: Sendable = Intent
    /// A one-off event for clients, such as a toast or a navigation. None by default.
    associatedtype Label: Codable & Equatable & Sendable = Never
    /// The value, derived from the state, that clients see. By default the whole state.
    associatedtype ViewState: Codable & Equatable & Sendable = State
    /// A group of clients that see the same. By default all do. A feature whose clients see different views of its state
    /// declares one, usually an enum such as `guest(id)` and `host`, with ``audience(of:)`` and ``view(_:for:)``.
    associatedtype Audience: Hashable & Sendable = Everyone
    /// The value that clients are shown of each other while they look at a store, such as a name. Nothing by default. A feature whose
    /// clients see who is here declares one, with ``presence(of:)``.
    associatedtype Presence: Codable & Hashable & Sendable = Never

    /// The feature's name in the API, `[a-z][a-z0-9-]{0,47}`. By default the type's name: `LessonDetail` becomes
    /// `lesson-detail`.
    static var name: String { get }
    /// A sentence for the list of features.
    static var summary: String { get }
    /// One value for each case of `Intent`. They describe the feature to clients and list the known intents in refusals
    /// of unknown ones. The server checks them against the JSON mapping at startup.
    static var examples: [Intent] { get }
    /// One value for each case of `Label`, for the feature's description.
    static var labelExamples: [Label] { get }

    /// The schema version of the stored `State`. If stored states can no longer be decoded (a member was renamed, or
    /// its type or meaning changed), raise it and add a migration from the previous version. A new member needs no
    /// migration: members missing in a stored state are taken from `initialState`.
    static var schemaVersion: Int { get }
    /// The migrations of states that were stored under older schema versions.
    static var migrations: [Migration<State>] { get }

    /// The lifetime of the feature's stores in the session of a subject. By default that of the session.
    static var life: Life { get }

    /// Returns the action that removes a person from the state of a shared store, or nil for none, which is the default.
    ///
    /// It is performed, when a person's data is deleted, once in each store of the spaces to which the person sent
    /// something, without a sender. If it fails, so does the deletion, which can be repeated.
    static func forgetting(_ person: ForgottenPerson) -> Action?

    /// Returns the action that follows when other clients look at a store, or nil for none, which is the default.
    ///
    /// It is performed without a sender, at most once a second, where the store's turns run. It tells the whole set: after a
    /// crash of the server, changes may be missing, and one may come twice.
    static func viewersChanged(_ viewers: Viewers<Presence>) -> Action?

    /// Returns the action that follows when a message of this feature's store is not delivered, or nil for none, which is the
    /// default.
    ///
    /// It is performed without a sender in the store that told it, once, if that is still there. See ``Turn/tell(_:_:key:in:)``.
    static func undelivered(_ message: UndeliveredMessage) -> Action?

    /// The state of a new store.
    var initialState: State { get }
    /// The observers and interceptors of this feature's stores, in addition to those that a server installs for all.
    var middleware: Middleware<Self> { get }

    /// Called each time a store starts, before the first intent. A store from a journal is `.restored` and has its old
    /// state, which may contain a stale value such as "loading".
    ///
    /// An error is reported; the store stays usable.
    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws
    /// Called once, in its own turn, when a caller signs in to the anonymous session of the store. Stores that start
    /// later, or after a crash during the sign-in, read `turn.session.subject` in `bootstrap`.
    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws
    /// Returns an asynchronous check of an intent, such as the validation of a coupon, or nil for none, which is the
    /// default.
    ///
    /// The check runs before the intent is enqueued, concurrently with other intents, for at most 5 s. It may refuse
    /// the intent, or replace it with an action that carries the check's result.
    func check(_ intent: Intent) -> Check?
    /// Handles an intent: dispatches messages, publishes labels, launches work. Must not block.
    ///
    /// If it throws, the turn is undone, the caller receives an error and `onFailure` is called. A `Refusal` is an
    /// answer and not a failure, so `onFailure` is not called.
    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws
    /// Handles an action that a turn sent, as `execute` handles an intent.
    func perform(_ action: Action, _ turn: inout Turn<Self>) throws
    /// Called in each turn that had messages, after its handler and actions, to react to a change in one place,
    /// whichever message made it: compare `before` with `turn.state`. Its effects belong to the turn. If its own
    /// messages change the state, it is called again with the state before them; after 16 calls the turn fails.
    ///
    /// ```swift
    /// func onChange(from before: State, _ turn: inout Turn<Self>) {
    ///     if turn.state.filter != before.filter { turn.dispatch(.pageChanged(1)) }
    /// }
    /// ```
    ///
    /// If it throws, the turn is undone, as in `execute`.
    func onChange(from before: State, _ turn: inout Turn<Self>) throws
    /// Applies a message to the state. Must be pure and fast, and must not use clocks, randomness or services.
    func reduce(_ state: inout State, _ message: Message)
    /// Returns the view state that clients see. Pure.
    ///
    /// Clients of a feature with audiences see what ``view(_:for:)`` returns instead. This view is then what other features
    /// and code of the server see.
    func view(_ state: State) -> ViewState
    /// Returns the audience of a client. Pure: it is called again only if the client's principal, locale or time
    /// zone changes.
    func audience(of viewer: Viewer) -> Audience
    /// Returns the view state that an audience sees. Pure.
    ///
    /// It is called after a change, once for each audience that looks, outside of turns and on any thread. A client is sent
    /// nothing if its audience's view is equal to the one before.
    func view(_ state: State, for audience: Audience) -> ViewState
    /// Returns what other clients are shown of one that looks at a store, or nil for a client that is only counted. Pure: it
    /// is called when a stream opens, and again only if the client's principal changes. At most 1,024 bytes of JSON.
    ///
    /// Streams tell the whole set, as do ``Turn/viewers``, when somebody comes or is gone for ten seconds.
    func presence(of viewer: Viewer) -> Presence?
    /// Called in a separate turn after an error in `bootstrap`, `execute`, `perform` or launched work, so that the
    /// feature can show it.
    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>)
    /// The time that a label is kept for clients that are not connected. By default 5 minutes.
    func timeToLive(of label: Label) -> Duration
}

extension Feature {
    /// The type's name in lower case with hyphens.
    public static var name: String { kebabCase(String(describing: Self.self)) }
    /// An empty text.
    public static var summary: String { "" }
    /// None.
    public static var labelExamples: [Label] { [] }
    /// 1.
    public static var schemaVersion: Int { 1 }
    /// None.
    public static var migrations: [Migration<State>] { [] }
    /// That of the session.
    public static var life: Life { .session }
    /// None.
    public static func forgetting(_ person: ForgottenPerson) -> Action? { nil }
    /// None.
    public static func viewersChanged(_ viewers: Viewers<Presence>) -> Action? { nil }
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
    /// Does nothing.
    public func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {}
    /// 5 minutes.
    public func timeToLive(of label: Label) -> Duration { .seconds(300) }
}

extension Feature where Message == Intent {
    /// Dispatches the intent as the message.
    @inlinable
    public func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws { turn.dispatch(intent) }
}

extension Feature where Intent == Never {
    /// None.
    public static var examples: [Never] { [] }
    /// Never called: there are no intents.
    @inlinable
    public func execute(_ intent: Never, _ turn: inout Turn<Self>) throws {}
}

extension Feature where Action == Never {
    /// Never called: there are no actions.
    public func perform(_ action: Never, _ turn: inout Turn<Self>) throws {}
}

extension Feature where ViewState == State {
    /// Returns the whole state.
    @inlinable
    public func view(_ state: State) -> State { state }
}

extension Feature where Audience == Everyone {
    /// Everyone.
    @inlinable
    public func audience(of viewer: Viewer) -> Everyone { Everyone() }
    /// Returns the view that all clients see.
    @inlinable
    public func view(_ state: State, for audience: Everyone) -> ViewState { view(state) }
}

extension Feature where Presence == Never {
    /// Nothing.
    public func presence(of viewer: Viewer) -> Never? { nil }
}

extension Feature {
    /// True if clients may see different views.
    @inlinable package static var hasAudiences: Bool { Audience.self != Everyone.self }
    /// True if clients are shown who looks at a store.
    @inlinable package static var hasPresence: Bool { Presence.self != Never.self }
}

/// The start of a new or a restored store.
public enum StartReason: Sendable, Equatable {
    /// The store begins with the feature's initial state.
    case new
    /// The store resumes with its stored state.
    case restored
}

/// `LessonDetail` → `lesson-detail`; a run of capitals is one word (`URLList` → `url-list`).
package func kebabCase(_ typeName: String) -> String {
    // The arguments of a generic type are not part of the name.
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
