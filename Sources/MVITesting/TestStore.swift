import Locking
import MVI
import SessionJournal
import Sessions
import Testing

/// A store under test. The test asserts the feature's behavior step by step and fails for everything that it does not
/// assert.
///
/// ```swift
/// @Test("loading sets the count to the number of the day")
/// func load() async {
///     let store = TestStore(Counter(numbers: FixedNumbers(42)))
///     await store.send(.load) { $0.isLoading = true }
///     await store.receive(.loaded(42)) {
///         $0.count = 42
///         $0.isLoading = false
///     }
///     await store.finish()
/// }
/// ```
///
/// Messages are received in order, with the change of state that each makes; labels are expected in order. Time stands
/// still until ``advance(by:sourceLocation:)``, and launched work runs one step at a time, so each run of a test has
/// the same order. Use it from one task, except for intents that are sent with `async let`.
///
/// The store runs in a session as in a server, with a journal in memory: intents arrive as JSON, states and reminders
/// are stored, and each ``OtherStore`` of the session can be read and sent to.
///
/// ## Topics
///
/// ### Sending
///
/// - ``send(_:as:sourceLocation:_:)-(_,Principal?,_,_)``
/// - ``send(_:as:sourceLocation:_:)-(_,TestCaller,_,_)``
/// - ``sendRejected(_:_:code:pointers:as:sourceLocation:)-(_,_,_,_,Principal?,_)``
/// - ``sendRejected(_:_:code:pointers:as:sourceLocation:)-(_,_,_,_,TestCaller,_)``
/// - ``sender(_:)``
/// - ``look(_:sourceLocation:)``
/// - ``perform(_:sourceLocation:)``
/// - ``signIn(_:sourceLocation:)``
/// - ``advance(by:sourceLocation:)``
///
/// ### Assertions
///
/// - ``receive(_:sourceLocation:_:)-(F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((Value)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second,Third)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second,Third,Fourth)->F.Message,_,_)``
/// - ``receive(_:where:sourceLocation:_:)``
/// - ``receive(action:sourceLocation:)``
/// - ``expect(_:to:sourceLocation:)``
/// - ``expect(_:to:_:sourceLocation:)``
/// - ``expectFailure(sourceLocation:)``
/// - ``expectSent(_:to:key:sourceLocation:)``
/// - ``expectSent(action:to:key:sourceLocation:)``
/// - ``exhaustive(_:showsSkipped:)``
/// - ``skipUnasserted(strict:sourceLocation:)``
/// - ``cancelWork(strict:sourceLocation:)``
/// - ``finish(sourceLocation:)``
///
/// ### Inspection
///
/// - ``state``
/// - ``view``
/// - ``reminders``
/// - ``told(_:key:in:)``
/// - ``undelivered(_:sourceLocation:)``
/// - ``workInProgress``
/// - ``isInMemory``
/// - ``diagnostics``
/// - ``fixture(sourceLocation:)``
///
/// ### Other stores of the session
///
/// - ``state(of:key:)``
/// - ``view(of:key:)``
/// - ``send(_:to:key:as:sourceLocation:)-(_,_,_,Principal?,_)``
/// - ``send(_:to:key:as:sourceLocation:)-(_,_,_,TestCaller,_)``
///
/// ### Effects of servers, journals and clients
///
/// - ``passivate(sourceLocation:)``
/// - ``comeBack(sourceLocation:)``
/// - ``failCommits(with:)``
/// - ``allowCommits()``
/// - ``changeElsewhere(sourceLocation:_:)``
/// - ``beginWatching(sourceLocation:)``
/// - ``endWatching(sourceLocation:)``
/// - ``dispose(sourceLocation:)``
public final class TestStore<F: Feature>: Sendable {
    /// A client's prediction of an intent's effect on the view state.
    public typealias Predict = @Sendable (inout F.ViewState, F.Intent) throws -> Void

    /// The clock of the store.
    public let clock: ManualClock
    /// The executor of the store's work.
    public let executor: TestExecutor

    struct Condition {
        var isExhaustive: Bool
        var showsSkipped = false
        var isFinished = false
        /// The default sender of intents.
        var principal: Principal?
        /// The store when it was last in memory.
        var store: SessionStore?
    }

    /// The feature that the store runs.
    public let feature: F
    let id: FeatureID
    let inbox: Inbox<F>
    /// Nil if the session cannot serve the features, which has failed the test.
    let world: TestSession?
    let timeout: Duration
    let predict: Predict?
    let condition: Lock<Condition>
    private let origin: SourceLocation

    /// Creates a store and starts it. The effects of bootstrap must be asserted as well.
    ///
    /// - Parameters:
    ///   - feature: the store's feature.
    ///   - key: the key in the feature id, for a keyed feature.
    ///   - state: the stored state that the store is restored with; bootstrap then receives `.restored`.
    ///   - principal: the default sender of intents and the owner of the session; nil for an anonymous session.
    ///   - session: the session as the feature sees it; nil for one with the id `test` that belongs to the principal.
    ///   - now: the wall-clock time at the beginning; it advances with `clock`.
    ///   - clock: the clock of the store's work, which services of the feature may share.
    ///   - uuid: returns UUIDs; nil for `00000000-0000-4000-8000-000000000001` and so on.
    ///   - others: the other stores of the session.
    ///   - exhaustive: true to fail the test for everything that is not asserted.
    ///   - timeout: the real time that the test waits for work outside its executor.
    ///   - predict: the prediction of a client, as for its `RemoteStore`: for each sent intent it must give the view state
    ///     after the intent's own turn, or throw.
    ///   - middleware: the middleware that a server would install for all features.
    ///   - sourceLocation: the location that failures of the initializer, and a missing `finish`, are reported at.
    public convenience init(
        _ feature: F, key: String? = nil, state: F.State? = nil, principal: Principal? = nil,
        session: SessionInfo? = nil, now: Timestamp = .testStart, clock: ManualClock = ManualClock(),
        uuid: (@Sendable () -> String)? = nil, others: [OtherStore] = [], exhaustive: Bool = true,
        timeout: Duration = .seconds(5), predict: Predict? = nil, middleware: [any CommonMiddleware] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        self.init(
            key: key, state: state, principal: principal, session: session, now: now, clock: clock, uuid: uuid,
            others: others, exhaustive: exhaustive, timeout: timeout, predict: predict, middleware: middleware,
            sourceLocation: sourceLocation
        ) { _ in feature }
    }

    /// Creates a store whose feature uses the test's clock, time, UUIDs or session. `make` is called once, with the
    /// values of the other parameters.
    public init<Fault: Error>(
        key: String? = nil, state: F.State? = nil, principal: Principal? = nil, session: SessionInfo? = nil,
        now: Timestamp = .testStart, clock: ManualClock = ManualClock(), uuid: (@Sendable () -> String)? = nil,
        others: [OtherStore] = [], exhaustive: Bool = true, timeout: Duration = .seconds(5), predict: Predict? = nil,
        middleware: [any CommonMiddleware] = [], sourceLocation: SourceLocation = #_sourceLocation,
        _ make: (TestSurroundings) throws(Fault) -> F
    ) throws(Fault) {
        let begin = clock.now
        let counted = CountedUUIDs()
        let surroundings = TestSurroundings(
            clock: clock, executor: TestExecutor(),
            session: session ?? SessionInfo(id: "test", created: now, subject: principal?.identity),
            principal: principal, now: { now + begin.duration(to: clock.now) }, uuid: uuid ?? { counted.next() })
        feature = try make(surroundings)
        (self.clock, executor, self.timeout, self.predict) = (clock, surroundings.executor, timeout, predict)
        origin = sourceLocation
        condition = Lock(Condition(isExhaustive: exhaustive, principal: principal))
        let instance = F.instance(key)
        let inbox = Inbox<F>(instance: instance, signal: surroundings.executor.signal)
        self.inbox = inbox
        let world: TestSession?
        var fault: (any Error)?
        do {
            _ = try FeatureID(of: F.self, key: key)
            world = try TestSession(
                surroundings, [Served(feature, key: key, state: state)] + others.map(\.served),
                middleware: middleware + [InboxWitness(inbox: inbox)], timeout: timeout
            ) { inbox.note($0) }
        } catch {
            (world, fault) = (nil, error)
        }
        self.world = world
        id = FeatureID(instance) ?? FeatureID(name: "none", key: nil)
        if let fault { fail("The store cannot be created as a server does: \(fault).", sourceLocation) }
        // Work that bootstrap launches starts after its turn, independent of the threads' speed.
        executor.pause()
        defer { executor.resume() }
        world?.openNow(id, for: principal) { error in
            Issue.record(
                Comment(rawValue: "The store could not be created: \(error.code.name), \(error.detail)"),
                sourceLocation: sourceLocation)
        }
    }

    deinit {
        world?.end()
        let condition = condition.withLock { $0 }
        guard condition.isExhaustive, !condition.isFinished else { return }
        let open = inbox.open.texts.map { "\n" + $0 }.joined()
        fail(
            "The test store was released without `await store.finish()`, so it is not known whether all was asserted."
                + open, origin)
    }

    // MARK: What there is

    /// The present state. For a store that is not in memory, it is the stored state, or the initial one if there is
    /// none.
    public var state: F.State { runner?.state ?? kept ?? feature.initialState }

    /// The present view state.
    public var view: F.ViewState { runner?.view ?? feature.view(kept ?? feature.initialState) }

    /// The names of the store's running work, in the order of their start.
    public var workInProgress: [String] { host?.workInProgress ?? [] }

    /// The store's diagnostics since it was last created or loaded.
    public var diagnostics: StoreDiagnostics {
        guard let host else { return StoreDiagnostics() }
        var diagnostics = host.diagnostics
        host.runner.addObserverCounts(to: &diagnostics)
        return diagnostics
    }

    var principal: Principal? { condition.withLock { $0.principal } }

    /// True if the store is in memory. False after ``passivate(sourceLocation:)``, until the next use.
    public var isInMemory: Bool { world?.session.store(inMemory: id) != nil }

    private var runner: TurnRunner<F>? { host?.runner as? TurnRunner<F> }

    /// The store in memory; after the end of the test, the last one.
    var host: SessionStore? {
        let found = world?.session.store(inMemory: id)
        return condition.withLock { condition in
            if found != nil { condition.store = found }
            return condition.isFinished ? condition.store : found
        }
    }

    /// The state in the journal; nil if the store is not stored.
    var kept: F.State? {
        guard let stored = world?.kept(id) else { return nil }
        let read = KeptState.read(
            stored.state, version: stored.schemaVersion, of: F.self, initial: feature.initialState)
        return if case .state(let state, _) = read { state } else { nil }
    }

    // MARK: Exhaustiveness

    /// Sets whether unasserted events fail the test. After `exhaustive(false)`, `receive` and `expect` skip earlier
    /// events, changes of state need not be described, and work may run at the end.
    ///
    /// - Parameters:
    ///   - isExhaustive: true to fail the test for everything that is not asserted.
    ///   - showsSkipped: true to report skipped events as warnings, which do not fail the test, at the lines that skip
    ///     them. Closures of `send` and `receive` then run twice, to find changes that they do not describe.
    public func exhaustive(_ isExhaustive: Bool, showsSkipped: Bool = false) {
        condition.withLock { ($0.isExhaustive, $0.showsSkipped) = (isExhaustive, showsSkipped) }
    }

    var isExhaustive: Bool { condition.withLock { $0.isExhaustive } }
    var showsSkipped: Bool { condition.withLock { $0.showsSkipped } }

    /// Keeps the store for inspection after the end.
    func markFinished() {
        _ = host
        condition.withLock { $0.isFinished = true }
    }

    // MARK: Time

    /// Advances the time from deadline to deadline and lets work run at each. Fires due reminders, even if the store is
    /// not in memory.
    public func advance(by duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) async {
        noteRest(await world?.advance(by: duration), sourceLocation)
    }

    /// Runs all work, turns and observers that do not wait for time or for others. Fails the test if this does not end,
    /// and for faults of the session.
    func settle(_ sourceLocation: SourceLocation) async { noteRest(await world?.settle(), sourceLocation) }

    private func noteRest(_ isAtRest: Bool?, _ sourceLocation: SourceLocation) {
        if isAtRest == false {
            fail(
                "The session does not become idle: something has run for \(timeout) without waiting."
                    + whatMayBeMissing, sourceLocation)
        }
        for fault in inbox.takeFaults() { fail(fault, sourceLocation) }
    }

    func fail(_ text: String, _ sourceLocation: SourceLocation) {
        Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
    }
}
