import Observation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The client of a server: one session, and one stream for all watched stores.
///
/// An app creates one and keeps it. The session is created with the first watched store or sent intent, and survives
/// restarts of the app if the options have a storage for its credential. When the object is released, everything ends
/// as with ``close()``; its sequences and those of its stores retain it.
///
/// The object is observable: a view that reads ``condition`` is updated when it changes. All functions can be called
/// from any thread.
@MainActor
@Observable
public final class RemoteServer {
    /// The condition of the connection.
    public private(set) var condition = Condition.idle

    @ObservationIgnored nonisolated let core: ClientCore
    @ObservationIgnored nonisolated let report: @Sendable (String) -> Void
    @ObservationIgnored nonisolated let outdated: FirstError
    @ObservationIgnored private nonisolated let network: Task<Void, Never>?

    /// Creates a client. No request is sent yet.
    ///
    /// - Parameters:
    ///   - url: the server's URL; paths are appended to its path.
    ///   - options: the options.
    public nonisolated convenience init(_ url: URL, options: Options = Options()) {
        self.init(
            options: options, settings: ConnectionSettings(options), transport: URLSessionTransport(base: url),
            time: Timekeeper(ContinuousClock()), random: { Double.random(in: 0...1) })
    }

    /// Creates a client with the dependencies of a test.
    nonisolated init(
        options: Options, settings: ConnectionSettings, transport: any Transport, time: Timekeeper,
        random: @escaping @Sendable () -> Double
    ) {
        report = options.report
        outdated = FirstError(options.onOutdated)
        let core = ClientCore(
            settings: settings, transport: transport, time: time, storage: options.credentials,
            identity: options.identity, random: random, report: options.report,
            pendingStorage: options.pendingStorage, abandoned: options.onAbandoned)
        self.core = core
        network = options.network.changes.map { changes in
            Task { [weak core] in for await isOnline in changes { core?.handle(.online(isOnline)) } }
        }
        let newest = Newest<Condition>()
        core.listen(core.number()) { [weak self] condition in
            guard newest.put(condition) else { return }
            Task { @MainActor in
                if let self, let condition = newest.take(), self.condition != condition { self.condition = condition }
            }
        }
    }

    deinit {
        network?.cancel()
        core.close()
    }

    /// The intents that wait for their answers, of all stores, in the order in which they are sent.
    public nonisolated var pending: [WaitingIntent] { core.waiting }

    /// The condition of the connection, beginning with the present one.
    public nonisolated var conditions: AsyncStream<Condition> {
        let (stream, continuation) = AsyncStream.makeStream(of: Condition.self)
        let number = core.number()
        // Retains the server as long as the sequence.
        continuation.onTermination = { [self] _ in core.stopListening(number) }
        core.listen(number) { condition in
            continuation.yield(condition)
            if condition == .closed { continuation.finish() }
        }
        return stream
    }

    /// Notes that the app is in the foreground: pending attempts are made at once, also if the system reports no network,
    /// which may be wrong, and a paused stream is reopened. Call it when the scene becomes active.
    public nonisolated func foreground() { core.handle(.foreground) }

    /// Notes that a user signed in. The options' `identity` is called, and its result is sent to the server. Call it at
    /// each sign-in, and at the app's start if a user is already signed in; before that, sessions are anonymous.
    ///
    /// - Parameter keepsStores: true if the user takes over the stores of an anonymous session. If false, the server
    ///   disposes of them, waiting intents fail with ``RemoteError/Code/sessionEnded``, and later ones wait for the
    ///   sign-in.
    public nonisolated func signIn(keepsStores: Bool = true) { core.handle(.signIn(keepsStores: keepsStores)) }

    /// Ends the session, if there is one. Watched stores continue in a new one.
    ///
    /// Use it to sign out, after `identity` has begun to return nil, and to begin again after ``Condition/ended``.
    /// Intents without an answer fail with ``RemoteError/Code/sessionEnded``; later ones wait for the new session.
    /// Without a network, the session stays on the server until it expires.
    public nonisolated func renewSession() { core.handle(.renewSession) }

    /// Closes the client; the session stays on the server. Sequences end, and new intents fail.
    public nonisolated func close() { core.close() }
}
