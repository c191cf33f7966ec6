#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RemoteServer {
    /// The options of a ``RemoteServer``.
    public struct Options: Sendable {
        /// The storage for the session's credential. By default in memory, so that each start of the app begins anew.
        public var credentials: any CredentialStorage = MemoryCredentialStorage()
        /// Returns the proof of the user's identity, such as a JWT that is still valid for a while; nil if no user is
        /// signed in.
        ///
        /// Called after ``RemoteServer/signIn()``, before the known identity expires, when the server requires one, and
        /// for each further session of a signed-in user; never concurrently. Without it, sessions are anonymous.
        public var identity: (@Sendable () async -> String?)?
        /// The format in which the server may send changes instead of whole states; nil for whole states.
        public var delta: DeltaFormat?
        #if canImport(Darwin)
            /// The language tag (BCP 47) that the server gets; by default the user's on Apple platforms. Nil for none.
            public var locale: String? = Locale.current.identifier(.bcp47)
            /// The IANA time zone that the server gets; by default the user's on Apple platforms. Nil for none.
            public var timeZone: String? = TimeZone.current.identifier
        #else
            /// The language tag (BCP 47) that the server gets; by default the user's on Apple platforms. Nil for none.
            public var locale: String?
            /// The IANA time zone that the server gets; by default the user's on Apple platforms. Nil for none.
            public var timeZone: String?
        #endif
        /// The time after which `send` gives up an intent.
        public var patience = Duration.seconds(300)
        /// The maximum number of intents that wait for their answers; more are refused.
        public var maximumWaitingIntents = 1_000
        /// The storage for intents that wait for their answers, so that they survive the end of the app. Nil, the default:
        /// they end with it. Use it with a storage for the credential: they are dropped with their session.
        public var pendingStorage: (any PendingStorage)?
        /// Called with each intent that `pendingStorage` kept and that failed, from any thread. It has no other caller.
        public var onAbandoned: @Sendable (WaitingIntent, RemoteError) -> Void = { _, _ in }
        /// Called once, with the first state that the app's type cannot read, from any thread: the app is older than the
        /// server. The error names the store and the member or case.
        public var onOutdated: @Sendable (RemoteError) -> Void = { _ in }
        /// The source of the network's availability.
        public var network = NetworkSource.system
        /// Called with log messages for the app's author, such as events that cannot be read, from any thread. They
        /// contain no states, intents or credentials.
        public var report: @Sendable (String) -> Void = { _ in }

        /// Creates the default options.
        public init() {}
    }
}

/// The source of the network's availability for a ``RemoteServer``. Without a network no attempts are made before
/// ``RemoteServer/foreground()``; when it returns, they are made at once.
public enum NetworkSource: Sendable {
    /// The system, on Apple platforms. On Linux the same as ``always``.
    case system
    /// The app: the elements are true when there is a network. For one server only.
    case changes(AsyncStream<Bool>)
    /// The network is assumed to be available; attempts fail without it.
    case always

    /// The changes of the network's availability; nil for always.
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
        (delta, locale, timeZone) = (options.delta, options.locale, options.timeZone)
        patience = options.patience
        queueLimit = options.maximumWaitingIntents
    }
}
