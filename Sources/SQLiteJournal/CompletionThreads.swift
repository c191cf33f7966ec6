import Dispatch
import Locking
import SQLite
import SessionJournal

/// A result and its caller's handler.
enum Completion: Sendable {
    case append(AppendResult, @Sendable (AppendResult) -> Void)
    case other(@Sendable () -> Void)

    func run() {
        switch self {
        case .append(let result, let done): done(result)
        case .other(let body): body()
        }
    }
}

/// Runs completion handlers off the threads of the writer and the reader: they run code of features and write to sockets.
/// A session always has the same thread, so that its results come in the order of commits.
final class CompletionThreads: Sendable {
    private let threads: [CompletionThread]

    /// Starts the threads; they run until `end`.
    init(count: Int) throws(DatabaseThreadError) {
        threads = (0..<count).map { _ in CompletionThread() }
        do {
            for thread in threads { try startThread { thread.run() } }
        } catch {
            for thread in threads { thread.end() }
            throw error
        }
    }

    func enqueue(_ completion: Completion, of session: SessionKey? = nil) {
        threads[index(session)].enqueue([completion])
    }

    /// Enqueues those of a transaction.
    func enqueue(_ completions: [Completion], of writes: [JournalQueue.Waiting]) {
        var parts: [[Completion]] = Array(repeating: [], count: threads.count)
        for (completion, waiting) in zip(completions, writes) {
            parts[index(waiting.write.scope.session)].append(completion)
        }
        for (thread, part) in zip(threads, parts) where !part.isEmpty { thread.enqueue(part) }
    }

    /// Ends the threads when they have run what was enqueued, and waits for that. What is enqueued later is never run.
    func end() {
        for thread in threads { thread.end() }
        for thread in threads { thread.hasEnded.wait() }
    }

    private func index(_ session: SessionKey?) -> Int {
        session.map { Int(UInt64(bitPattern: $0.number) % UInt64(threads.count)) } ?? 0
    }
}

private final class CompletionThread: Sendable {
    private let state = Lock<(waiting: [Completion], isEnding: Bool)>(([], false))
    private let signal = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)

    func enqueue(_ completions: [Completion]) {
        state.withLock { $0.waiting.append(contentsOf: completions) }
        signal.signal()
    }

    func end() {
        state.withLock { $0.isEnding = true }
        signal.signal()
    }

    func run() {
        var isEnding = false
        while !isEnding {
            signal.wait()
            let waiting: [Completion]
            (waiting, isEnding) = state.withLock { state in
                defer { state.waiting = [] }
                return state
            }
            for completion in waiting { completion.run() }
        }
        hasEnded.signal()
    }
}
