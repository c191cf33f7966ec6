import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import WireJSON

/// The one store of a session, on a journal in memory.
package final class HostedStore<F: Feature>: Sendable {
    package let session: Session
    private let feature: FeatureID
    /// The values before the store is in memory.
    private let initial: (state: F.State, view: F.ViewState)
    /// The store that was found last: it is removed from its session when that ends.
    private let found = Lock<SessionStore?>(nil)
    private let streams = Lock<[SessionStream]>([])

    /// Creates a store that has not started.
    ///
    /// - Parameters:
    ///   - state: the state from before a restart; nil for a store that is not kept yet.
    ///   - log: decides the results of appends and records the turns; nil commits each append at once.
    package init(
        _ feature: F, state: F.State? = nil, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: AppendLog<F>? = nil
    ) {
        let log = log ?? AppendLog(isRecording: environment.isRecording)
        var limits = SessionLimits()
        limits.queuedIntents = environment.queueLimit
        // Avoids time limits on a slow machine.
        limits.runnerTime = .seconds(600)
        limits.recordings = RecordingLimit(turns: log.isRecording ? 100_000 : 0)
        limits.recordingDelay = .zero
        let clock = environment.clock as? ManualClock
        let now = environment.now
        let time = TimeSource(
            monotonic: { clock?.now.offset ?? TimeSource.system.monotonic() }, sinceEpoch: { now().sinceEpoch })
        do {
            let id = FeatureID(name: F.name, key: nil)
            let sessions = SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(feature)]), limits: limits, journal: log.journal,
                time: time, clock: environment.clock, executor: environment.executor, middleware: middleware,
                report: environment.report
            ) { stores in
                stores.uuid = environment.uuid
                stores.jitter = environment.jitter
                stores.workLimit = environment.workLimit
                stores.slowTurn = environment.slowTurn
            }
            sessions.onAppend { log.willAppend($0) }
            let name = environment.session.id.isEmpty ? "session" : environment.session.id
            try log.keepSession(name, id, state, at: now().sinceEpoch, view: feature.view)
            let token = AppendLog<F>.token
            guard case .found(let stored) = try log.journal.now({ log.journal.load(token, now: .zero, done: $0) })
            else {
                preconditionFailure("the journal has the session")
            }
            session = Session(stored, lastSeen: time.monotonic(), environment: sessions)
            self.feature = id
        } catch {
            preconditionFailure("the store cannot be served: \(error)")
        }
        let first = state ?? feature.initialState
        initial = (first, feature.view(first))
    }

    /// Creates or loads the store.
    package func start() { session.start(feature) { _ in } }

    // MARK: State and view

    package var host: SessionStore? {
        guard let host = session.store(inMemory: feature) else { return found.withLock { $0 } }
        found.withLock { $0 = host }
        return host
    }

    private var runner: TurnRunner<F>? { host?.runner as? TurnRunner<F> }

    /// The committed state.
    package var state: F.State { runner?.state ?? initial.state }
    /// The committed view state.
    package var view: F.ViewState { runner?.view ?? initial.view }

    /// The store, if it is in memory.
    package var inMemory: SessionStore {
        guard let host else { preconditionFailure("the store has not started") }
        return host
    }

    package var workInProgress: [String] { inMemory.workInProgress }
    package var queue: TurnQueue { session.queue }

    package var diagnostics: StoreDiagnostics {
        var diagnostics = host?.diagnostics ?? StoreDiagnostics()
        host?.runner.addObserverCounts(to: &diagnostics)
        return diagnostics
    }

    /// Returns when observers have had all that happened. The end of a store may wait for a turn that was just answered.
    package func observersCaughtUp() async {
        while session.isEnded, session.queue.isRunning { await Task.yield() }
        await host?.runner.observersCaughtUp()
    }

    // MARK: Intents

    /// Sends an intent as a client does.
    ///
    /// - Parameter id: nil for one that the session creates.
    package func accept(
        _ intent: F.Intent, id: IntentID? = nil, principal: Principal? = nil,
        ifMatch: (@Sendable (_ versions: ClosedRange<UInt64>) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void = { _ in }
    ) {
        do {
            let request = IntentRequest(
                body: try WireJSON.encode(intent), name: id.map { .key($0.text) }, ifMatch: ifMatch, wantsState: false,
                client: SessionClient(principal: principal))
            session.send(request, to: feature, completion: completion)
        } catch {
            preconditionFailure("the intent is not JSON: \(error)")
        }
    }

    /// Calls `accept` and waits for the outcome.
    @discardableResult
    package func send(
        _ intent: F.Intent, id: IntentID? = nil, principal: Principal? = nil
    ) async throws(StoreError) -> IntentOutcome {
        let result: Result<IntentOutcome, StoreError> = await withCheckedContinuation { continuation in
            accept(intent, id: id, principal: principal, completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// See `TurnQueue.whenSettled`.
    package func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        queue.whenSettled(intentID, id: id, action)
    }

    package func stopWaiting(for intentID: IntentID, id: UInt64) { queue.stopWaiting(for: intentID, id: id) }

    /// Returns when no work that the intent launched is running.
    package func settled(_ intentID: IntentID) async {
        await withCheckedContinuation { continuation in
            if !whenSettled(intentID, id: 0, { continuation.resume() }) { continuation.resume() }
        }
    }

    // MARK: Watchers and the end

    /// Opens a stream on the store.
    package func beginWatching() {
        session.openStream(.features([feature]), from: .unspecified) { [streams] result in
            if case .success(let stream) = result { streams.withLock { $0.append(stream) } }
        }
    }

    /// Closes the stream that was opened last.
    package func endWatching() { streams.withLock { $0.popLast() }?.closed() }

    /// Ends the session.
    package func dispose() {
        _ = host
        session.end(.ended)
    }
}
