import Locking
import MVI
import Networks
import SessionJournal
import Sessions

/// The session of a tested store. It is a server's session with a journal in memory and the test's clock and executor.
final class TestSession: Sendable {
    let session: Session
    let journal: TestJournal
    let clock: ManualClock
    let executor: TestExecutor
    private let time: TimeSource
    private let timeout: Duration
    private let key: SessionKey
    private let environment: SessionEnvironment
    private let callers = Lock<[String: (caller: TestCaller, session: Session)]>([:])
    private let streams = Lock<[SessionStream]>([])

    /// - Parameters:
    ///   - time: the wall clock.
    ///   - served: the features, the tested one first.
    init(
        _ surroundings: TestSurroundings, _ served: [any TestedFeature], middleware: [any CommonMiddleware],
        timeout: Duration, report: @escaping @Sendable (StoreReport) -> Void
    ) throws {
        (clock, executor, self.timeout) = (surroundings.clock, surroundings.executor, timeout)
        let clock = surroundings.clock
        let now = surroundings.now
        time = TimeSource(monotonic: { clock.now.offset }, sinceEpoch: { now().sinceEpoch })
        journal = TestJournal()
        var groups: [(name: String, served: [any TestedFeature])] = []
        for served in served {
            if let index = groups.firstIndex(where: { $0.name == served.name }) {
                groups[index].served.append(served)
            } else {
                groups.append((served.name, [served]))
            }
        }
        let features = try FeatureRegistry(
            try groups.map { try $0.served[0].definition(with: Array($0.served.dropFirst())) })
        var limits = SessionLimits()
        limits.recordings = RecordingLimit(turns: .max)
        limits.recordingDelay = .zero
        environment = SessionEnvironment(
            features: features, limits: limits, journal: journal, time: time, clock: clock,
            executor: surroundings.executor, middleware: middleware, report: report
        ) { stores in
            stores.uuid = surroundings.uuid
            stores.jitter = { $0 }
        }
        let (journal, time) = (journal, time)
        key = try Self.keep(try served.compactMap { try $0.kept() }, surroundings.session, in: journal, time)
        guard case .found(let stored) = try journal.now({ journal.load(Self.token, now: time.sinceEpoch(), done: $0) })
        else { preconditionFailure("the journal has the session") }
        session = Session(stored, lastSeen: time.monotonic(), environment: environment)
    }

    private static let token = TokenHash([UInt8](repeating: 7, count: 32))

    /// Stores the session and its initial stores.
    private static func keep(
        _ stores: [KeptStore], _ info: SessionInfo, in journal: TestJournal, _ time: TimeSource
    ) throws -> SessionKey {
        let record = SessionRecord(
            id: info.id, tokenHash: token, epoch: "test", credential: .bearer, created: info.created.sinceEpoch,
            lastSeen: time.sinceEpoch(), subject: info.subject)
        let key = try journal.now { journal.create(record, credential: nil, done: $0) }
        guard !stores.isEmpty else { return key }
        let changes = stores.enumerated().map { index, store in
            let number = UInt64(index + 1)
            return StoreChange(
                feature: store.feature, kind: .made, number: number, version: number, made: number,
                schemaVersion: store.schemaVersion, state: store.state, view: store.view)
        }
        let head = SessionHead(number: UInt64(stores.count), nonce: 1)
        let batch = JournalBatch(
            session: key, expecting: .empty, head: head, time: time.sinceEpoch(), stores: changes)
        guard case .committed? = journal.append(batch, done: { _ in }) else {
            preconditionFailure("a new journal takes the first batch")
        }
        return key
    }

    // MARK: Stores

    /// Calls the session on the executor, so that work which the call starts runs after it, in order. Returns nil if
    /// the answer does not come in time.
    private func answer<Value: Sendable>(
        _ ask: @escaping @Sendable (Session, @escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value? {
        let answer = Lock<Value?>(nil)
        let signal = executor.signal
        Task(executorPreference: executor) { [session] in
            ask(session) { value in
                answer.withLock { $0 = value }
                signal.send()
            }
        }
        _ = await signal.wait(atMost: timeout) { answer.withLock { $0 != nil } }
        return answer.withLock { $0 }
    }

    /// Loads a store into memory, or creates it.
    func open(_ feature: FeatureID, for principal: Principal?) async -> Result<Void, StoreError>? {
        await answer { session, done in
            session.start(feature, for: SessionClient(principal: principal)) { done($0) }
        }
    }

    /// Loads or creates a store synchronously. With a journal in memory, it is ready on return unless it fails.
    func openNow(_ feature: FeatureID, for principal: Principal?, _ failed: @escaping @Sendable (StoreError) -> Void) {
        session.start(feature, for: SessionClient(principal: principal)) { result in
            if case .failure(let error) = result { failed(error) }
        }
    }

    func send(_ body: [UInt8], to feature: FeatureID, by client: SessionClient) async -> IntentResult? {
        await answer { session, done in
            session.send(IntentRequest(body: body, wantsState: false, client: client), to: feature) { done($0) }
        }
    }

    // MARK: Callers

    func client(_ caller: TestCaller) -> SessionClient {
        let session = own(caller)
        session.apply(caller.client.settings, to: nil)
        return SessionClient(
            principal: caller.principal, address: caller.client.address.flatMap { PeerAddress($0) },
            caller: session)
    }

    func sender(_ caller: TestCaller) -> Sender { session.sender(own(caller), caller.principal, nil) }

    /// The callers that the test has used, each as it was used last.
    var usedCallers: [TestCaller] { callers.withLock { $0.values.map(\.caller) } }

    /// The caller's own session.
    private func own(_ caller: TestCaller) -> Session {
        callers.withLock { callers in
            if let known = callers[caller.session] {
                callers[caller.session]?.caller = caller
                return known.session
            }
            let token = TokenHash(0, 0, 0, UInt64(callers.count))
            let record = SessionRecord(
                id: caller.session, tokenHash: token, epoch: "test", credential: .bearer, created: time.sinceEpoch(),
                lastSeen: time.sinceEpoch())
            let stored = StoredSession(
                key: SessionKey(-1), record: record, recentHeads: [], stores: [], labels: [], lostLabels: LostLabels(),
                receipts: [])
            let session = Session(stored, lastSeen: time.monotonic(), environment: environment)
            callers[caller.session] = (caller, session)
            return session
        }
    }

    /// Notifies the stores of a sign-in.
    func signIn(_ principal: Principal) async -> Void? {
        await answer { [executor] session, done in
            Task(executorPreference: executor) {
                // The test's journal accepts it, unless the session has ended.
                try? await session.tellStores(of: principal)
                done(())
            }
        }
    }

    func deliver(_ delivery: Delivery, to feature: FeatureID) async -> IntentResult? {
        await answer { session, done in
            session.deliver(delivery, to: feature, once: nil, makesStore: true) { done($0) }
        }
    }

    /// Returns a store from the journal; nil if there is none.
    func kept(_ feature: FeatureID) -> StoredStore? {
        let (journal, key) = (journal, key)
        return (try? journal.now { journal.loadStores([feature], of: key, named: Self.token, done: $0) })?.stores.first
    }

    /// The session from the journal with its recorded turns; nil if it has ended.
    var export: SessionExport? { (try? journal.now { journal.export(session.id, done: $0) }) ?? nil }

    /// Changes a store as another server does. Returns false if there is no such store.
    func write(_ feature: FeatureID, schemaVersion: Int, state: [UInt8], view: [UInt8]) throws(StoreError) -> Bool {
        try journal.write(
            feature, of: key, at: time.sinceEpoch(), schemaVersion: schemaVersion, state: state, view: view)
    }

    func dispose(_ feature: FeatureID) async -> Result<Void, StoreError>? {
        await answer { session, done in session.removeStore(feature) { done($0.map { _ in }) } }
    }

    // MARK: Watching

    func look(_ callers: [TestCaller], at feature: FeatureID) async {
        let clients = callers.map { client($0) }
        let _: Void? = await answer { session, done in done(session.show(viewers: clients, of: feature)) }
    }

    func beginWatching(_ feature: FeatureID) async -> Result<Void, StoreError>? {
        let opened: Result<SessionStream, StoreError>? = await answer { session, done in
            session.openStream(.features([feature]), from: .unspecified) { done($0) }
        }
        if case .success(let stream)? = opened { streams.withLock { $0.append(stream) } }
        return opened?.map { _ in }
    }

    /// Ends the stream that was opened last. Returns false if there is none.
    func endWatching() -> Bool {
        guard let stream = streams.withLock({ $0.popLast() }) else { return false }
        stream.closed()
        return true
    }

    // MARK: Waiting

    /// The names of the running work in all stores of the session.
    var work: [String] { session.storesInMemory.flatMap { $0.workInProgress } }

    /// The number of pieces of work that wait for a state, in all stores of the session.
    var stateWaiterCount: Int { session.storesInMemory.reduce(0) { $0 + $1.runner.waiterCount } }

    /// Runs all work, turns and observers that do not wait for time or for others. Returns false if that does not end.
    func settle() async -> Bool {
        guard await executor.settled(atMost: timeout) else { return false }
        if session.queue.isRunning {
            let isOver: Void? = await answer { session, done in session.afterWaitingTurns { done(()) } }
            guard isOver != nil, await executor.settled(atMost: timeout) else { return false }
        }
        for store in session.storesInMemory { await store.runner.observersCaughtUp() }
        return true
    }

    /// Waits until `condition` holds or cannot become true any more, up to the timeout.
    func wait(until condition: @escaping @Sendable () -> Bool) async {
        let isOver: @Sendable () -> Bool = { [self] in condition() || (executor.isIdle && work.isEmpty) }
        let isUpToTime: @Sendable () -> Bool = { [self] in
            executor.isIdle && clock.waiterCount + stateWaiterCount >= work.count
        }
        let end = ContinuousClock.now + timeout
        while !isOver(), ContinuousClock.now < end {
            let left = ContinuousClock.now.duration(to: end)
            _ = await executor.signal.wait(atMost: left) { isOver() || isUpToTime() }
            if isOver() { return }
            // Some work may wait for time and for something outside the executor, which gets a moment.
            let isElse = await executor.signal.wait(atMost: Self.moment) { isOver() || !isUpToTime() }
            if !isElse { return }
        }
    }

    /// The real time that the test waits for conditions that only an advance of the clock can fulfill.
    private static let moment: Duration = .milliseconds(25)

    /// Advances the time from deadline to deadline, including reminders. Returns false if the session does not become
    /// idle.
    func advance(by duration: Duration) async -> Bool {
        let end = clock.now.advanced(by: duration)
        var earliest: Duration = .zero
        guard await settle() else { return false }
        while let next = session.nextReminder {
            let now = time.sinceEpoch()
            let wait = max(.zero, max(next, earliest) - now)
            guard clock.now.advanced(by: wait) <= end else { break }
            guard await moveClock(by: wait) else { return false }
            // A timer's turn may have canceled it.
            guard let due = session.nextReminder, due <= time.sinceEpoch() else { continue }
            let isOver: Void? = await answer { session, done in session.fireReminders { done(()) } }
            guard isOver != nil, await settle() else { return false }
            // A reminder that could not be committed is retried as in a server.
            earliest = time.sinceEpoch()
            if let left = session.nextReminder, left <= earliest { earliest += .seconds(2) }
        }
        return await moveClock(by: clock.now.duration(to: end))
    }

    private func moveClock(by duration: Duration) async -> Bool {
        let isAtRest = await clock.advance(by: duration) { [self] in await executor.settled(atMost: timeout) }
        guard isAtRest else { return false }
        return await settle()
    }

    func end() {
        for stream in streams.withLock({ $0 }) { stream.closed() }
        session.end(.ended)
    }
}
