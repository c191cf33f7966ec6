import Tracing

/// Code around a feature: observers, which see everything and change nothing, and interceptors, which may refuse or
/// rewrite an intent before it is executed.
public struct Middleware<F: Feature>: Sendable {
    /// Receives events after their commit, in order, on the threads of observers. A slow or throwing observer does not
    /// affect the store. An observer that lags far behind misses observations; the store's diagnostics count them.
    public typealias Observer = @Sendable (StoreObservation<F>) throws -> Void
    /// Returns the intent to execute, unchanged or rewritten, or throws a `Refusal`. Runs on the intent's thread and
    /// must not block.
    public typealias Interceptor = @Sendable (F.Intent, Interception<F>) throws -> F.Intent

    @usableFromInline let observers: [Observer]
    @usableFromInline let interceptors: [Interceptor]
    /// Receives the events of one turn together, right after its commit or its failure, on the same thread. For tests,
    /// which need the ends of turns and must not miss events. Called without locks held.
    let witnesses: [Witness]

    package typealias Witness =
        @Sendable (_ events: [StoreObservation<F>.Event], IntentID, _ instance: String, Witnessed<F>) -> Void

    /// Creates middleware with the given observers and interceptors, in order.
    public init(observers: [Observer] = [], interceptors: [Interceptor] = []) {
        self.init(observers, interceptors, [])
    }

    private init(_ observers: [Observer], _ interceptors: [Interceptor], _ witnesses: [Witness]) {
        (self.observers, self.interceptors, self.witnesses) = (observers, interceptors, witnesses)
    }

    package init(witness: @escaping Witness) { self.init([], [], [witness]) }

    /// Returns middleware with one observer.
    public static func observing(_ observer: @escaping Observer) -> Middleware {
        Middleware(observers: [observer])
    }

    /// Returns middleware with one interceptor.
    public static func intercepting(_ interceptor: @escaping Interceptor) -> Middleware {
        Middleware(interceptors: [interceptor])
    }

    /// Returns middleware with the hooks of both, this one's first.
    public func combined(with next: Middleware) -> Middleware {
        Middleware(
            observers + next.observers, interceptors + next.interceptors, witnesses + next.witnesses)
    }

    @usableFromInline var isObserving: Bool { !observers.isEmpty || !witnesses.isEmpty }
}

/// What a witness is told of a turn in addition to its events.
@usableFromInline
package struct Witnessed<F: Feature>: Sendable {
    /// True if a turn of another store of the session sent the intent or the action.
    package let isSent: Bool
    package let sender: Sender?
    /// The addressees of directed labels.
    package let addressees: [LabelTo<F>]

    @usableFromInline
    init(isSent: Bool = false, sender: Sender? = nil, addressees: [LabelTo<F>] = []) {
        (self.isSent, self.sender, self.addressees) = (isSent, sender, addressees)
    }
}

/// Middleware for every feature of a server, such as logging.
public protocol CommonMiddleware: Sendable {
    /// Returns the middleware for the stores of `feature`.
    func middleware<F: Feature>(for feature: F.Type) -> Middleware<F>
}

/// The values that an interceptor can use.
public struct Interception<F: Feature>: Sendable {
    /// The state that the intent would run on.
    public let state: F.State
    /// The intent's id.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The sender of the intent; nil if the sender is anonymous.
    public let principal: Principal?
    /// The span of the request in swift-distributed-tracing; nil without tracing.
    public let trace: ServiceContext?
}

/// An event in a store. Observers receive each event once, after its commit, in causal order.
public struct StoreObservation<F: Feature>: Sendable {
    /// The kinds of events.
    public enum Event: Sendable {
        /// The store started.
        case started(StartReason)
        /// An intent was executed (as interceptors left it).
        case intent(F.Intent)
        /// An intent was refused, by an interceptor or by the feature itself.
        case refused(F.Intent, Refusal)
        /// An action was performed.
        case action(F.Action)
        /// A message was reduced.
        case message(F.Message, before: F.State, after: F.State)
        /// A label was published.
        case label(F.Label)
        /// An error was thrown; its turn is undone.
        case failed(Failure)
        /// The store was disposed.
        case ended
    }

    /// The event.
    public let event: Event
    /// The id of the intent that led to the event.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The sender of the intent; nil if the sender is anonymous, or without an intent.
    public let principal: Principal?
    /// The span of the turn; nil without tracing.
    public let trace: ServiceContext?
}
