import Locking
import MVI
import Testing

/// A store under test: it says what a feature does, step by step, and fails the test for everything that the test does
/// not say.
///
/// ```swift
/// @Test("loading sets the count to the number of the day")
/// func load() async {
///     let store = TestStore(Counter(numbers: FixedNumbers(42)))
///     await store.send(.load)
///     await store.receive(.loadStarted) { $0.isLoading = true }
///     await store.receive(.loaded(42)) {
///         $0.count = 42
///         $0.isLoading = false
///     }
///     await store.finish()
/// }
/// ```
///
/// Each message is received in its order, with the change of state that it makes; each label is expected in its
/// order. Time stands still until `advance(by:)`, and launched work runs one step at a time, so a test has the same
/// course each time. One test uses a test store from one task.
public final class TestStore<F: Feature>: Sendable {
    /// The store itself, for what a test wants to look at beside messages and labels.
    public let store: Store<F>
    /// The time of the store.
    public let clock: ManualClock
    /// Where the store's work runs.
    public let executor: TestExecutor

    struct Condition {
        var isExhaustive: Bool
        var isFinished = false
    }

    let inbox: Inbox<F>
    let timeout: Duration
    let condition: Lock<Condition>
    private let origin: SourceLocation

    /// Makes a store and starts it: what bootstrap does is to be asserted as well.
    ///
    /// - Parameters:
    ///   - state: the state that an earlier life left, for a bootstrap that is told `.restored`.
    ///   - exhaustive: whether what is not asserted fails the test.
    ///   - timeout: how long in real time the test waits for something that work running elsewhere may still do.
    ///   - environment: what the store is given; clock and executor are the test's own, and waits have no jitter.
    public init(
        _ feature: F, state: F.State? = nil, exhaustive: Bool = true, timeout: Duration = .seconds(5),
        environment: StoreEnvironment = StoreEnvironment(), middleware: [any CommonMiddleware] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        clock = ManualClock()
        executor = TestExecutor()
        let inbox = Inbox<F>(signal: executor.signal)
        var adjusted = environment
        adjusted.clock = clock
        adjusted.executor = executor
        adjusted.isRecording = true
        adjusted.jitter = { $0 }
        adjusted.report = { report in
            inbox.report(report)
            environment.report(report)
        }
        store = Store(feature, state: state, environment: adjusted, middleware: middleware, log: inbox)
        self.inbox = inbox
        self.timeout = timeout
        condition = Lock(Condition(isExhaustive: exhaustive))
        origin = sourceLocation
        store.start()
    }

    deinit {
        store.dispose()
        let condition = condition.withLock { $0 }
        guard condition.isExhaustive, !condition.isFinished else { return }
        fail(
            "The test store was given up without `await store.finish()`, so it is not known whether all was asserted.",
            origin)
    }

    /// The state after everything that has happened.
    public var state: F.State { store.state }

    /// What clients see of it.
    public var view: F.ViewState { store.view }

    /// Whether what is not asserted fails the test; `exhaustive(false)` from here on lets it pass: `receive` and
    /// `expect` skip what comes before, changes of state may go undescribed, and work may run on at the end.
    public func exhaustive(_ isExhaustive: Bool) {
        condition.withLock { $0.isExhaustive = isExhaustive }
    }

    var isExhaustive: Bool { condition.withLock { $0.isExhaustive } }

    /// Sends an intent and lets everything run that it leads to, up to where that waits for time or for others. Fails
    /// the test if the intent is refused or throws; `sendRejected` is for those.
    ///
    /// - Parameter principal: who sends it; nil for somebody who is not signed in.
    @discardableResult
    public func send(
        _ intent: F.Intent, as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        await settle()
        do throws(StoreError) {
            let outcome = try await store.send(intent, principal: principal)
            await settle()
            return outcome
        } catch {
            // It was reported as well; one failed test is enough.
            if let failure = error.failure { inbox.takeFailure(of: failure.intentID) }
            let reason = error.failure.map { describe($0.error) } ?? "\(error.code), \(error.detail)"
            fail("The intent \(describe(intent)) was rejected: \(reason).", sourceLocation)
            return nil
        }
    }

    /// Sends an intent that must be refused or throw, and returns why. Fails the test if it is executed.
    @discardableResult
    public func sendRejected(
        _ intent: F.Intent, as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        await settle()
        do throws(StoreError) {
            _ = try await store.send(intent, principal: principal)
            fail("The intent \(describe(intent)) was to be rejected, but it was executed.", sourceLocation)
            return nil
        } catch {
            if let failure = error.failure { inbox.takeFailure(of: failure.intentID) }
            await settle()
            return error
        }
    }

    /// Moves the time on, from deadline to deadline, and lets work run at each.
    public func advance(by duration: Duration) async {
        await clock.advance(by: duration, running: executor)
    }

    /// Lets all work run that does not wait for time or for others.
    func settle() async {
        _ = await executor.settled(atMost: timeout)
    }

    func fail(_ text: String, _ sourceLocation: SourceLocation) {
        Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
    }
}
