import Observation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A server as an app sees it: one session and one stream for all stores that are watched.
///
/// An app makes one and keeps it. The session is made with the first store that is watched or intent that is sent, and
/// kept over restarts of the app if the options have a storage for its credential. When the object goes, everything ends
/// as with ``close()``; its sequences and those of its stores keep it.
///
/// The object is observable: a view that reads ``condition`` is drawn again when it changes. All functions may be called
/// from any thread.
@MainActor
@Observable
public final class RemoteServer {
    /// The condition of the connection.
    public private(set) var condition = Condition.idle

    @ObservationIgnored nonisolated let core: ClientCore
    @ObservationIgnored nonisolated let report: @Sendable (String) -> Void
    @ObservationIgnored private nonisolated let network: Task<Void, Never>?

    /// A server that nothing is asked of yet.
    ///
    /// - Parameters:
    ///   - url: where the server is; its paths are appended to this one's.
    ///   - options: what differs from the defaults.
    public nonisolated convenience init(_ url: URL, options: Options = Options()) {
        self.init(
            options: options, settings: ConnectionSettings(options), transport: URLSessionTransport(base: url),
            time: Timekeeper(ContinuousClock()), random: { Double.random(in: 0...1) })
    }

    /// The same with everything that a test decides.
    nonisolated init(
        options: Options, settings: ConnectionSettings, transport: any Transport, time: Timekeeper,
        random: @escaping @Sendable () -> Double
    ) {
        report = options.report
        let core = ClientCore(
            settings: settings, transport: transport, time: time, storage: options.credentials,
            identity: options.identity, random: random, report: options.report)
        self.core = core
        network = options.network.changes.map { changes in
            Task { [weak core] in for await isOnline in changes { core?.handle(.online(isOnline)) } }
        }
        let newest = Newest<Condition>()
        core.listen(core.number()) { [weak self] condition in
            guard newest.put(condition) else { return }
            Task { @MainActor in
                if let condition = newest.take() { self?.condition = condition }
            }
        }
    }

    deinit {
        network?.cancel()
        core.close()
    }

    /// The conditions of the connection, the current one first.
    public nonisolated var conditions: AsyncStream<Condition> {
        let (stream, continuation) = AsyncStream.makeStream(of: Condition.self)
        let number = core.number()
        // Keeps the server as long as the sequence.
        continuation.onTermination = { [self] _ in core.stopListening(number) }
        core.listen(number) { condition in
            continuation.yield(condition)
            if condition == .closed { continuation.finish() }
        }
        return stream
    }

    /// Says that the app is looked at: what waits is tried at once, and a connection that slept is opened again. Call it
    /// when the scene becomes active.
    public nonisolated func foreground() { core.handle(.foreground) }

    /// Says that there is a user, or another one: the options' `identity` is asked, and the server is told. Call it when
    /// somebody signs in, and at the app's start if somebody is signed in already; sessions are anonymous before.
    ///
    /// - Parameter keepsStores: whether the stores of an anonymous session become the user's. With false the server
    ///   disposes of them, intents that wait fail with ``RemoteError/Code/sessionEnded``, and those sent from now on wait
    ///   for the sign-in.
    public nonisolated func signIn(keepsStores: Bool = true) { core.handle(.signIn(keepsStores: keepsStores)) }

    /// Ends the session, if there is one; what is watched goes on in a new one.
    ///
    /// For signing out, with an `identity` that gives nothing any more, and for beginning again after
    /// ``Condition/ended``. Intents without an answer fail with ``RemoteError/Code/sessionEnded``; those sent afterwards
    /// wait for the new session. Without a network the session stays on the server until it expires.
    public nonisolated func renewSession() { core.handle(.renewSession) }

    /// Ends everything here; the session stays on the server. Sequences end, and what is sent fails.
    public nonisolated func close() { core.close() }
}
