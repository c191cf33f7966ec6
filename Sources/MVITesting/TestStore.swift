import Locking
import MVI
import SessionJournal
import Sessions
import Testing

/// A store under test: it says what a feature does, step by step, and fails the test for everything that the test does
/// not say.
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
/// Each message is received in its order, with the change of state that it makes; each label is expected in its
/// order. Time stands still until ``advance(by:sourceLocation:)``, and launched work runs one step at a time, so a test
/// has the same course each time. One task of a test uses it, but for an intent that is sent with `async let`.
///
/// The store runs in a session as in a server, with a journal in memory: intents come in as JSON, states are kept as JSON,
/// reminders are kept, and each ``OtherStore`` of the session can be read and sent to.
///
/// ## Topics
///
/// ### Sending
///
/// - ``send(_:as:sourceLocation:_:)``
/// - ``sendRejected(_:_:code:pointers:as:sourceLocation:)``
/// - ``perform(_:sourceLocation:)``
/// - ``signIn(_:sourceLocation:)``
/// - ``advance(by:sourceLocation:)``
///
/// ### What happened
///
/// - ``receive(_:sourceLocation:_:)-(F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((Value)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second,Third)->F.Message,_,_)``
/// - ``receive(_:sourceLocation:_:)-((First,Second,Third,Fourth)->F.Message,_,_)``
/// - ``receive(_:where:sourceLocation:_:)``
/// - ``receive(action:sourceLocation:)``
/// - ``expect(_:sourceLocation:)``
/// - ``expectFailure(sourceLocation:)``
/// - ``expectSent(_:to:key:sourceLocation:)``
/// - ``expectSent(action:to:key:sourceLocation:)``
/// - ``exhaustive(_:showsSkipped:)``
/// - ``skipUnasserted(strict:sourceLocation:)``
/// - ``cancelWork(strict:sourceLocation:)``
/// - ``finish(sourceLocation:)``
///
/// ### What there is
///
/// - ``state``
/// - ``view``
/// - ``reminders``
/// - ``workInProgress``
/// - ``isInMemory``
/// - ``diagnostics``
/// - ``fixture(sourceLocation:)``
///
/// ### Other stores of the session
///
/// - ``state(of:key:)``
/// - ``view(of:key:)``
/// - ``send(_:to:key:as:sourceLocation:)``
///
/// ### What servers, journals and clients do
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
    /// The time of the store.
    public let clock: ManualClock
    /// The executor of the store's work.
    public let executor: TestExecutor

    struct Condition {
        var isExhaustive: Bool
        var showsSkipped = false
        var isFinished = false
        /// The default sender of intents.
        var principal: Principal?
        /// The store as it was in memory last.
        var store: SessionStore?
    }

    /// The feature that the store runs.
    public let feature: F
    let id: FeatureID
    let inbox: Inbox<F>
    /// Nil if the session cannot serve the features, which has failed the test.
    let world: TestSession?
    let timeout: Duration
    let condition: Lock<Condition>
    private let origin: SourceLocation

    /// Makes a store and starts it: what bootstrap does is to be asserted as well.
    ///
    /// - Parameters:
    ///   - feature: the feature that the store runs.
    ///   - key: the instance's key, for a feature that is served by key.
    ///   - state: the state that an earlier life left, for a bootstrap that is told `.restored`.
    ///   - principal: who sends the intents that say no other sender, and whose session it is; nil for somebody who is not
    ///     signed in.
    ///   - session: what the feature knows of its session; nil for one with the id `test` that is the principal's.
    ///   - now: the time on the wall clock at the beginning; it moves with `clock`.
    ///   - clock: the clock that work waits on, and that services of the feature may share.
    ///   - uuid: makes UUIDs; nil for `00000000-0000-4000-8000-000000000001` and so on.
    ///   - others: the other stores of the session.
    ///   - exhaustive: whether what is not asserted fails the test.
    ///   - timeout: how long in real time the test waits for something that work running elsewhere may still do.
    ///   - middleware: what a server would install for all features.
    ///   - sourceLocation: where a failure of the beginning is shown, and that `finish` is missing.
    public convenience init(
        _ feature: F, key: String? = nil, state: F.State? = nil, principal: Principal? = nil,
        session: SessionInfo? = nil, now: Timestamp = .testStart, clock: ManualClock = ManualClock(),
        uuid: (@Sendable () -> String)? = nil, others: [OtherStore] = [], exhaustive: Bool = true,
        timeout: Duration = .seconds(5), middleware: [any CommonMiddleware] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        self.init(
            key: key, state: state, principal: principal, session: session, now: now, clock: clock, uuid: uuid,
            others: others, exhaustive: exhaustive, timeout: timeout, middleware: middleware,
            sourceLocation: sourceLocation
        ) { _ in feature }
    }

    /// The same for a feature that is made with the test's own clock, time, UUIDs or session: `make` is called once, with
    /// what the other parameters say.
    public init(
        key: String? = nil, state: F.State? = nil, principal: Principal? = nil, session: SessionInfo? = nil,
        now: Timestamp = .testStart, clock: ManualClock = ManualClock(), uuid: (@Sendable () -> String)? = nil,
        others: [OtherStore] = [], exhaustive: Bool = true, timeout: Duration = .seconds(5),
        middleware: [any CommonMiddleware] = [], sourceLocation: SourceLocation = #_sourceLocation,
        _ make: (TestSurroundings) throws -> F
    ) rethrows {
        let begin = clock.now
        let counted = CountedUUIDs()
        let surroundings = TestSurroundings(
            clock: clock, executor: TestExecutor(),
            session: session ?? SessionInfo(id: "test", created: now, subject: principal?.identity),
            principal: principal, now: { now + begin.duration(to: clock.now) }, uuid: uuid ?? { counted.next() })
        feature = try make(surroundings)
        (self.clock, executor, self.timeout) = (clock, surroundings.executor, timeout)
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
        if let fault { fail("The store cannot be made as a server makes it: \(fault).", sourceLocation) }
        // What bootstrap launches begins when its turn is over, whichever thread is faster.
        executor.pause()
        defer { executor.resume() }
        world?.openNow(id, for: principal) { error in
            Issue.record(
                Comment(rawValue: "The store could not be made: \(error.code.name), \(error.detail)"),
                sourceLocation: sourceLocation)
        }
    }

    deinit {
        world?.end()
        let condition = condition.withLock { $0 }
        guard condition.isExhaustive, !condition.isFinished else { return }
        let open = inbox.open.texts.map { "\n" + $0 }.joined()
        fail(
            "The test store was given up without `await store.finish()`, so it is not known whether all was asserted."
                + open, origin)
    }

    // MARK: What there is

    /// The state after everything that has happened; of a store that has left memory the one that is kept, and the initial
    /// one where there is none.
    public var state: F.State { runner?.state ?? kept ?? feature.initialState }

    /// The view state.
    public var view: F.ViewState { runner?.view ?? feature.view(kept ?? feature.initialState) }

    /// The names of the store's work that runs, in the order in which it began.
    public var workInProgress: [String] { host?.workInProgress ?? [] }

    /// The store's own condition, since it was last made or came back.
    public var diagnostics: StoreDiagnostics {
        guard let host else { return StoreDiagnostics() }
        var diagnostics = host.diagnostics
        host.runner.addObserverCounts(to: &diagnostics)
        return diagnostics
    }

    var principal: Principal? { condition.withLock { $0.principal } }

    /// True if the store is in memory; not after ``passivate(sourceLocation:)``, until the next touch.
    public var isInMemory: Bool { world?.session.store(inMemory: id) != nil }

    private var runner: TurnRunner<F>? { host?.runner as? TurnRunner<F> }

    /// The store in memory; after the end of the test the one that was there last.
    var host: SessionStore? {
        let found = world?.session.store(inMemory: id)
        return condition.withLock { condition in
            if found != nil { condition.store = found }
            return condition.isFinished ? condition.store : found
        }
    }

    /// The state as the journal has it; nil if the store is not kept.
    var kept: F.State? {
        guard let stored = world?.kept(id) else { return nil }
        let read = KeptState.read(
            stored.state, version: stored.schemaVersion, of: F.self, initial: feature.initialState)
        return if case .state(let state, _) = read { state } else { nil }
    }

    // MARK: How strict it is

    /// Returns true if what is not asserted fails the test; `exhaustive(false)` from here on lets it pass: `receive` and
    /// `expect` skip what comes before, changes of state may go undescribed, and work may run on at the end.
    ///
    /// - Parameters:
    ///   - isExhaustive: whether what is not asserted fails the test.
    ///   - showsSkipped: whether what is skipped is shown as warnings, which fail no test, at the lines that skip it. Closures
    ///     of `send` and `receive` run twice then, to find the changes that they do not describe.
    public func exhaustive(_ isExhaustive: Bool, showsSkipped: Bool = false) {
        condition.withLock { ($0.isExhaustive, $0.showsSkipped) = (isExhaustive, showsSkipped) }
    }

    var isExhaustive: Bool { condition.withLock { $0.isExhaustive } }
    var showsSkipped: Bool { condition.withLock { $0.showsSkipped } }

    /// Keeps the store for what is asked of it after the end.
    func markFinished() {
        _ = host
        condition.withLock { $0.isFinished = true }
    }

    // MARK: Time

    /// Moves the time on, from deadline to deadline, and lets work run at each. Fires the reminders that are due, also while
    /// the store is not in memory.
    public func advance(by duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) async {
        noteRest(await world?.advance(by: duration), sourceLocation)
    }

    /// Lets all work and all turns run that do not wait for time or for others, and observers catch up. Fails the test if
    /// they do not come to rest, and for what no test can mean.
    func settle(_ sourceLocation: SourceLocation) async { noteRest(await world?.settle(), sourceLocation) }

    private func noteRest(_ isAtRest: Bool?, _ sourceLocation: SourceLocation) {
        if isAtRest == false {
            fail(
                "The session does not come to rest: something runs for \(timeout) and waits for nothing."
                    + whatMayBeMissing, sourceLocation)
        }
        for fault in inbox.takeFaults() { fail(fault, sourceLocation) }
    }

    func fail(_ text: String, _ sourceLocation: SourceLocation) {
        Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
    }
}
