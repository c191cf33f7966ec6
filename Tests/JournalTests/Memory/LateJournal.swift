import Locking
import MVI
import MVITesting
import SessionJournal

/// A journal that answers later, from one task that works on what was handed over; what it keeps outlives it in the
/// journal underneath. It stands for an engine with a file.
final class LateJournal: InterposedJournal {
    private typealias Job = @Sendable () -> Void

    /// Jobs pass through a lock, whose order Thread Sanitizer sees; the stream only wakes the worker.
    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    private let kept: MemoryJournal
    private let state: Lock<State>
    private let wake: AsyncStream<Void>.Continuation
    private let worker: Task<Void, Never>

    var base: any Journal { kept }

    init(_ kept: MemoryJournal) {
        self.kept = kept
        let state = Lock(State())
        let (stream, wake) = AsyncStream.makeStream(of: Void.self)
        (self.state, self.wake) = (state, wake)
        worker = Task.detached {
            @Sendable func work() { while let job = state.withLock({ $0.jobs.popFirst() }) { job() } }
            for await _ in stream { work() }
            work()
        }
    }

    var trouble: StoreError? { state.withLock { $0.isClosed } ? Self.closed : nil }

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
        state.withLock { $0.isClosed = true }
        wake.finish()
        await worker.value
    }

    private static let closed = StoreError(.closed, "The journal is closed.")

    /// Says whether the job is taken.
    private func enqueue(_ job: @escaping Job) -> Bool {
        let isTaken = state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return !state.isClosed
        }
        if isTaken { wake.yield() }
        return isTaken
    }
}

extension Array {
    fileprivate mutating func popFirst() -> Element? { isEmpty ? nil : removeFirst() }
}
