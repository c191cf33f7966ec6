import Dispatch
import Locking

/// A result and its caller's handler.
package enum Completion: Sendable {
    case append(AppendResult, @Sendable (AppendResult) -> Void)
    case other(@Sendable () -> Void)

    func run() {
        switch self {
        case .append(let result, let done): done(result)
        case .other(let body): body()
        }
    }
}

/// Runs completion handlers off the threads that a journal writes and reads on: they run code of features and write to
/// sockets. A session always has the same thread, so that its results come in the order of commits.
package final class CompletionThreads: Sendable {
    private struct Thread: Sendable {
        let state = Lock<(waiting: [Completion], isEnding: Bool)>(([], false))
        let signal = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)

        func enqueue(_ completions: [Completion], isEnding: Bool = false) {
            state.withLock { state in
                state.waiting.append(contentsOf: completions)
                state.isEnding = state.isEnding || isEnding
            }
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

    private let threads: [Thread]

    /// Starts the threads; they run until `end`. Nil if the system has none to give.
    package init?(count: Int) {
        threads = (0..<count).map { _ in Thread() }
        for thread in threads {
            guard let system = SystemThread({ thread.run() }) else {
                for thread in threads { thread.enqueue([], isEnding: true) }
                return nil
            }
            system.detach()
        }
    }

    package func enqueue(_ completion: Completion, of session: SessionKey? = nil) {
        threads[index(session)].enqueue([completion])
    }

    /// Enqueues those of a transaction; each has a session in whose order it comes, or none.
    package func enqueue(_ completions: [Completion], of sessions: some Sequence<SessionKey?>) {
        var parts: [[Completion]] = Array(repeating: [], count: threads.count)
        for (completion, session) in zip(completions, sessions) { parts[index(session)].append(completion) }
        for (thread, part) in zip(threads, parts) where !part.isEmpty { thread.enqueue(part) }
    }

    /// Ends the threads when they have run what was enqueued, and waits for that. What is enqueued later is never run.
    package func end() {
        for thread in threads { thread.enqueue([], isEnding: true) }
        for thread in threads { thread.hasEnded.wait() }
    }

    private func index(_ session: SessionKey?) -> Int {
        session.map { Int(UInt64(bitPattern: $0.number) % UInt64(threads.count)) } ?? 0
    }
}
