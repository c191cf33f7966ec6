import Dispatch
import Locking

/// A result together with the caller's handler.
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

/// Runs completion handlers off the journal's writing and reading threads, since handlers run feature code and write to
/// sockets. All results of a session run on one thread, so they arrive in commit order.
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

    /// Starts the threads, which run until `end`. Returns nil if the system cannot create them.
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

    /// Enqueues a transaction's completions, each ordered by its session if it has one.
    package func enqueue(_ completions: [Completion], of sessions: some Sequence<SessionKey?>) {
        var parts: [[Completion]] = Array(repeating: [], count: threads.count)
        for (completion, session) in zip(completions, sessions) { parts[index(session)].append(completion) }
        for (thread, part) in zip(threads, parts) where !part.isEmpty { thread.enqueue(part) }
    }

    /// Runs what was enqueued, ends the threads and waits for them. Later completions never run.
    package func end() {
        for thread in threads { thread.enqueue([], isEnding: true) }
        for thread in threads { thread.hasEnded.wait() }
    }

    private func index(_ session: SessionKey?) -> Int {
        session.map { Int(UInt64(bitPattern: $0.number) % UInt64(threads.count)) } ?? 0
    }
}
