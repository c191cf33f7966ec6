import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions

/// A table of sessions in which nothing happens by itself: time stands still and tasks run on the fuzzer's thread, so that
/// one input always runs the same.
final class World {
    let table: SessionTable
    private let executor = InlineExecutor()
    private let clock = ManualClock()
    /// Of each call that was made: what it was, and how many results it has.
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
        limits.recordedTurns = 2
        table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal,
                time: TimeSource(monotonic: { .seconds(100_000) }, sinceEpoch: { Self.now }), clock: clock,
                executor: executor))
    }

    /// Runs tasks until none is ready, and lets a minute pass for those that sleep.
    func settle() {
        executor.run()
        for _ in 0..<60 where clock.sleeperCount > 0 {
            clock.advance(by: .seconds(1))
            executor.run()
        }
    }

    /// Ends a session. Then nothing of it may be left to run, and every call has its one result.
    func end(_ session: Session) throws(BrokenProperty) {
        let ended = call("ending a session") { table.end(session, completion: $0) }
        guard case .success? = ended else { throw BrokenProperty("a session cannot be ended") }
        settle()
        try hold(clock.sleeperCount == 0, "something of an ended session sleeps")
        for call in calls where call.count() != 1 {
            throw BrokenProperty("\(call.description) has \(call.count()) results")
        }
        calls = []
    }

    /// The result of a call; nil if it is still to come after a minute.
    func call<Value: Sendable>(
        _ description: String, _ body: (@escaping @Sendable (Value) -> Void) -> Void
    ) -> Value? {
        let results = Lock<[Value]>([])
        calls.append((description, { results.withLock { $0.count } }))
        body { value in results.withLock { $0.append(value) } }
        if results.withLock({ $0.isEmpty }) { settle() }
        return results.withLock { $0.first }
    }

    /// The result of a call that has one within a minute.
    func result<Value: Sendable>(
        _ description: String, _ body: (@escaping @Sendable (Value) -> Void) -> Void
    ) throws(BrokenProperty) -> Value {
        guard let result = call(description, body) else { throw BrokenProperty("\(description) has no result") }
        return result
    }
}

/// Keeps tasks until they are run, on the thread that runs them.
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
