import Locking
import MVI
import MVITesting
import SessionJournal

/// A journal that answers later, from one task that works on what was handed over; what it keeps outlives it in the
/// journal underneath. It stands for an engine with a file.
final class LateJournal: InterposedJournal {
    private typealias Job = @Sendable () -> Void

    private let kept: MemoryJournal
    private let jobs: AsyncStream<Job>.Continuation
    private let worker: Task<Void, Never>
    private let isClosed = Lock(false)

    var base: any Journal { kept }

    init(_ kept: MemoryJournal) {
        self.kept = kept
        let (stream, continuation) = AsyncStream.makeStream(of: Job.self)
        jobs = continuation
        worker = Task.detached {
            for await job in stream { job() }
        }
    }

    var trouble: StoreError? { isClosed.withLock { $0 } ? Self.closed : nil }

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        if !enqueue({ body(done) }) { done(.failure(Self.closed)) }
    }

    func append(
        _ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void
    ) -> AppendResult? {
        let isTaken = enqueue { [kept] in
            if let result = kept.append(batch, done: done) { done(result) }
        }
        return isTaken ? nil : .failed(Self.closed)
    }

    func close() async {
        isClosed.withLock { $0 = true }
        jobs.finish()
        await worker.value
    }

    private static let closed = StoreError(.closed, "The journal is closed.")

    /// Says whether the job is taken.
    private func enqueue(_ job: @escaping Job) -> Bool {
        if case .enqueued = jobs.yield(job) { true } else { false }
    }
}
