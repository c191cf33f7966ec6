extension RemoteServer {
    /// How a ``RemoteServer`` behaves.
    public struct Options: Sendable {
        /// Where the session's credential is kept. By default in memory: then each start of the app begins anew.
        public var credentials: any CredentialStorage = MemoryCredentialStorage()
        /// Gives the proof of who the user is, such as a JWT that is good for a while yet; nil if nobody is signed in.
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
        /// Whether there is a network, as that changes. By default what the system says on Apple's platforms; nil is
        /// for always, and the default on Linux.
        public var network: AsyncStream<Bool>? = SystemNetwork.changes()
        /// Called with what an author may want to log, such as events that cannot be read; from any thread. Texts have
        /// no states, no intents and no credentials.
        public var report: @Sendable (String) -> Void = { _ in }

        /// The defaults.
        public init() {}
    }
}

extension ConnectionSettings {
    init(_ options: RemoteServer.Options) {
        delta = options.delta
        patience = options.patience
        queueLimit = options.maximumWaitingIntents
    }
}
