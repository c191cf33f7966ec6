extension RemoteServer {
    /// How a ``RemoteServer`` behaves.
    public struct Options: Sendable {
        /// Where the session's credential is kept. By default in memory: then each start of the app begins anew.
        public var credentials: any CredentialStorage = MemoryCredentialStorage()
        /// Gives the proof of who the user is, such as a JWT that is good for a while yet; nil if no user is signed in.
        ///
        /// It is asked after ``RemoteServer/signIn()``, before the identity that the server knows expires, when the server
        /// wants one, and for each further session of a user who is signed in; never twice at the same time. Without it
        /// sessions are anonymous.
        public var identity: (@Sendable () async -> String?)?
        /// Whether the server may send changes of states in place of whole ones.
        public var delta: DeltaFormat?
        /// How long an intent is tried before `send` gives up.
        public var patience = Duration.seconds(300)
        /// How many intents may wait for their answers; one more is refused.
        public var maximumWaitingIntents = 1_000
        /// Who says whether there is a network.
        public var network = NetworkSource.system
        /// Called with what an author may want to log, such as events that cannot be read; from any thread. Texts have
        /// no states, no intents and no credentials.
        public var report: @Sendable (String) -> Void = { _ in }

        /// The defaults.
        public init() {}
    }
}

/// Who tells a ``RemoteServer`` whether there is a network: without one it tries nothing, and with a new one at once.
public enum NetworkSource: Sendable {
    /// The system, on Apple's platforms. On Linux as ``always``.
    case system
    /// The app: the elements are whether there is a network, as that changes. For one server only.
    case changes(AsyncStream<Bool>)
    /// There is one; tries fail while there is none.
    case always

    /// Whether there is a network, as that changes; nil for always.
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
