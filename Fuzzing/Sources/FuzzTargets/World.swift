import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions

/// A table of sessions without concurrency: time stands still and tasks run on the fuzzer's thread, so each run of one
/// input is the same.
final class World {
    let table: SessionTable
    private let executor = InlineExecutor()
    private let clock = ManualClock()
    /// The description and the number of results of each call.
    private var calls: [(description: String, count: () -> Int)] = []

    /// Time since 1970.
    static let now: Duration = .seconds(1_700_000_000)

    private static let features = Result {
        try FeatureRegistry([FeatureDefinition(Desk()), FeatureDefinition(keyed: { key, _ in Shelf(key: key) })])
    }

    init(_ journal: any Journal) throws(BrokenProperty) {
        let features = try succeed("the features are refused") { try Self.features.get() }
        var limits = SessionLimits()
        limits.outboxLabels = 8
        limits.receiptsPerSession = 8
        limits.recordings = RecordingLimit(turns: 2)
        table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal,
                time: TimeSource(monotonic: { .seconds(100_000) }, sinceEpoch: { Self.now }), clock: clock,
                executor: executor))
    }

    /// Runs tasks until none is ready, then advances the clock by a minute for sleeping ones.
    func settle() {
        executor.run()
        for _ in 0..<60 where clock.sleeperCount > 0 {
            clock.advance(by: .seconds(1))
            executor.run()
        }
    }

    /// Ends a session. No task of it may remain, and every call must have its one result.
    func end(_ session: Session) throws(BrokenProperty) {
        let ended = call("ending a session") { table.end(session, completion: $0) }
        guard case .success? = ended else { throw BrokenProperty("a session cannot be ended") }
        settle()
        try hold(clock.sleeperCount == 0, "a task of an ended session sleeps")
        for call in calls where call.count() != 1 {
            throw BrokenProperty("\(call.description) has \(call.count()) results")
        }
        calls = []
    }

    /// Returns the result of a call; nil if it has none after a minute.
    func call<Value: Sendable>(
        _ description: String, _ body: (@escaping @Sendable (Value) -> Void) -> Void
    ) -> Value? {
        let results = Lock<[Value]>([])
        calls.append((description, { results.withLock { $0.count } }))
        body { value in results.withLock { $0.append(value) } }
        if results.withLock({ $0.isEmpty }) { settle() }
        return results.withLock { $0.first }
    }

    /// Returns the result of a call, which must have one within a minute.
    func result<Value: Sendable>(
        _ description: String, _ body: (@escaping @Sendable (Value) -> Void) -> Void
    ) throws(BrokenProperty) -> Value {
        guard let result = call(description, body) else { throw BrokenProperty("\(description) has no result") }
        return result
    }
}

/// Keeps tasks until a thread runs them.
private final class InlineExecutor: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func run() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
