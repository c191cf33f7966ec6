extension RemoteServer {
    /// The options of a ``RemoteServer``.
    public struct Options: Sendable {
        /// The storage of the session's credential. By default in memory: each start of the app creates a session.
        public var credentials: any CredentialStorage = MemoryCredentialStorage()
        /// Gives the proof of who the user is, such as a JWT that is good for a while yet; nil if no user is signed in.
        ///
        /// It is asked after ``RemoteServer/signIn()``, before the identity that the server knows expires, when the server
        /// wants one, and for each further session of a user who is signed in; never twice at the same time. Without it
        /// sessions are anonymous.
        public var identity: (@Sendable () async -> String?)?
        /// True if the server may send changes of states in place of whole ones.
        public var delta: DeltaFormat?
        /// The time for which an intent is retried before `send` gives up.
        public var patience = Duration.seconds(300)
        /// The maximum number of waiting intents; one more is refused.
        public var maximumWaitingIntents = 1_000
        /// The source of the network's status.
        public var network = NetworkSource.system
        /// Called with what an author may want to log, such as events that cannot be read; from any thread. Texts have
        /// no states, no intents and no credentials.
        public var report: @Sendable (String) -> Void = { _ in }

        /// The defaults.
        public init() {}
    }
}

/// A source of the network's status. A ``RemoteServer`` tries nothing without a network, and immediately with a new
/// one.
public enum NetworkSource: Sendable {
    /// The system, on Apple's platforms. On Linux as ``always``.
    case system
    /// The app: the elements are whether there is a network, as that changes. For one server only.
    case changes(AsyncStream<Bool>)
    /// There is one; tries fail while there is none.
    case always

    /// True if there is a network, as that changes; nil for always.
    var changes: AsyncStream<Bool>? {
        switch self {
        case .system: SystemNetwork.changes()
        case .changes(let changes): changes
        case .always: nil
        }
    }
}

extension ConnectionSettings {
    init(_ options: RemoteServer.Options) {
        delta = options.delta
        patience = options.patience
        queueLimit = options.maximumWaitingIntents
    }
}
