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

/// A thread's task queue: runs the task later on that thread, in order, or returns false if the thread has ended.
package typealias TaskLoop = @Sendable (_ task: @escaping @Sendable () -> Void) -> Bool

/// Runs completion handlers off the journal's writing and reading threads, since handlers run feature code and write to
/// sockets. All results of a session are in one queue, so they arrive in commit order.
///
/// Each queue has a thread of its own and may be given a loop instead, usually one of the HTTP server: its sockets then
/// get their results without another switch of threads.
package final class CompletionThreads: Sendable {
    private final class Queue: Sendable {
        private struct State {
            var waiting: [Completion] = []
            var loop: TaskLoop?
            /// True if the thread or the loop will run what waits, or runs it.
            var isScheduled = false
            /// True if the thread is the one.
            var isThreadDue = false
            var isEnding = false
        }

        private let state = Lock(State())
        private let signal = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)

        func enqueue(_ completions: [Completion]) {
            let isFirst = state.withLock { state in
                state.waiting.append(contentsOf: completions)
                defer { state.isScheduled = true }
                return !state.isScheduled
            }
            if isFirst { schedule() }
        }

        func use(_ loop: @escaping TaskLoop) { state.withLock { $0.loop = loop } }

        func end() {
            state.withLock { $0.isEnding = true }
            signal.signal()
        }

        private func schedule() {
            if let loop = state.withLock({ $0.loop }), loop({ self.runWaiting() }) { return }
            // The loop has ended.
            state.withLock { state in
                state.loop = nil
                state.isThreadDue = true
            }
            signal.signal()
        }

        private func runWaiting() {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for completion in waiting { completion.run() }
            let (isMore, isEnding) = state.withLock { state in
                state.isScheduled = !state.waiting.isEmpty
                return (state.isScheduled, state.isEnding)
            }
            if isMore { schedule() } else if isEnding { signal.signal() }
        }

        /// The thread's work.
        func run() {
            while true {
                signal.wait()
                let (isDue, isOver) = state.withLock { state in
                    defer { state.isThreadDue = false }
                    return (state.isThreadDue, state.isEnding && !state.isScheduled)
                }
                if isDue { runWaiting() } else if isOver { break }
            }
            hasEnded.signal()
        }
    }

    private let queues: [Queue]

    /// Starts the threads, which run until `end`. Returns nil if the system cannot create them.
    package init?(count: Int) {
        queues = (0..<count).map { _ in Queue() }
        for queue in queues {
            guard let system = SystemThread({ queue.run() }) else {
                for queue in queues { queue.end() }
                return nil
            }
            system.detach()
        }
    }

    /// Runs later completions on these loops, until one ends.
    package func use(_ loops: [TaskLoop]) {
        guard !loops.isEmpty else { return }
        for (number, queue) in queues.enumerated() { queue.use(loops[number % loops.count]) }
    }

    package func enqueue(_ completion: Completion, of session: SessionKey? = nil) {
        queues[index(session)].enqueue([completion])
    }

    /// Enqueues a transaction's completions, each ordered by its session if it has one.
    package func enqueue(_ completions: [Completion], of sessions: some Sequence<SessionKey?>) {
        var parts: [[Completion]] = Array(repeating: [], count: queues.count)
        for (completion, session) in zip(completions, sessions) { parts[index(session)].append(completion) }
        for (queue, part) in zip(queues, parts) where !part.isEmpty { queue.enqueue(part) }
    }

    /// Runs what was enqueued, ends the threads and waits for them. Later completions never run.
    package func end() {
        for queue in queues { queue.end() }
        for queue in queues { queue.hasEnded.wait() }
    }

    private func index(_ session: SessionKey?) -> Int {
        session.map { Int(UInt64(bitPattern: $0.number) % UInt64(queues.count)) } ?? 0
    }
}
