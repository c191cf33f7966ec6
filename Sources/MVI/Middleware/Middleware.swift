import Tracing

/// The observers and interceptors of a feature. Observers see everything and change nothing; interceptors may refuse
/// or rewrite an intent before it is executed.
public struct Middleware<F: Feature>: Sendable {
    /// Sees what happened, after its commit, in order, on the threads of observers: a slow or throwing observer cannot hurt
    /// the store, and one that lags far behind misses observations, which is counted in the store's diagnostics.
    public typealias Observer = @Sendable (StoreObservation<F>) throws -> Void
    /// Returns the intent to execute, the given one or another; throws a `Refusal` to refuse it. Runs where the intent
    /// runs and must not block.
    public typealias Interceptor = @Sendable (F.Intent, Interception<F>) throws -> F.Intent

    @usableFromInline let observers: [Observer]
    @usableFromInline let interceptors: [Interceptor]
    /// Told of the events of one turn together, right after its commit or its end without one, on the thread on which that
    /// is: for tests, which have to know where a turn ends and must not miss any. Called under no lock.
    let witnesses: [Witness]

    /// `isSent`: whether a turn of another store of the session sent the intent or the action.
    package typealias Witness =
        @Sendable (_ events: [StoreObservation<F>.Event], IntentID, _ instance: String, _ isSent: Bool) -> Void

    /// None of either, or those given, in order.
    public init(observers: [Observer] = [], interceptors: [Interceptor] = []) {
        self.init(observers, interceptors, [])
    }

    private init(_ observers: [Observer], _ interceptors: [Interceptor], _ witnesses: [Witness]) {
        (self.observers, self.interceptors, self.witnesses) = (observers, interceptors, witnesses)
    }

    package init(witness: @escaping Witness) { self.init([], [], [witness]) }

    /// Middleware that observes.
    public static func observing(_ observer: @escaping Observer) -> Middleware {
        Middleware(observers: [observer])
    }

    /// Middleware that intercepts.
    public static func intercepting(_ interceptor: @escaping Interceptor) -> Middleware {
        Middleware(interceptors: [interceptor])
    }

    /// Both, this one first; every hook of either is kept.
    public func combined(with next: Middleware) -> Middleware {
        Middleware(
            observers + next.observers, interceptors + next.interceptors, witnesses + next.witnesses)
    }

    @usableFromInline var isObserving: Bool { !observers.isEmpty || !witnesses.isEmpty }
}

/// Middleware for every feature of a server, such as logging.
public protocol CommonMiddleware: Sendable {
    /// Returns the middleware for stores of `feature`.
    func middleware<F: Feature>(for feature: F.Type) -> Middleware<F>
}

/// The context of an interceptor.
public struct Interception<F: Feature>: Sendable {
    /// The state on which the intent would run.
    public let state: F.State
    /// The intent's id.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The caller who sent the intent; nil if anonymous.
    public let principal: Principal?
    /// The span that the intent came in, of the tracer of swift-distributed-tracing; nil where nothing is traced.
    public let trace: ServiceContext?
}

/// Something that happened in a store, as observers are told it after the commit: once each, in causal order.
public struct StoreObservation<F: Feature>: Sendable {
    /// An observed event.
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
        /// Something threw; what its turn did is undone.
        case failed(Failure)
        /// The store was disposed.
        case ended
    }

    /// The observed event.
    public let event: Event
    /// The intent that led to it.
    public let intentID: IntentID
    /// The feature instance, such as `counter` or `order-detail:42`.
    public let instance: String
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The caller who sent the intent; nil if anonymous, and without an intent.
    public let principal: Principal?
    /// The span of the turn; nil where nothing is traced.
    public let trace: ServiceContext?
}
