import Dispatch
import Locking

/// Runs tasks one step at a time, in the order in which their steps become ready, and says when all of them wait.
///
/// A store that has it runs its launched work in the same order each time.
public final class TestExecutor: TaskExecutor, Sendable {
    private struct State {
        /// Steps that were handed to the queue and have not returned.
        var unfinished = 0
        var isPaused = false
        /// The jobs that arrived while paused.
        var held: [UnownedJob] = []
    }

    private let queue = DispatchQueue(label: "MVITesting.TestExecutor")
    private let state = Lock(State())
    let signal = Signal()

    /// An executor with nothing to do; a paused one keeps what comes until `resume`.
    public init(paused: Bool = false) {
        if paused { pause() }
    }

    /// Takes a step that is ready; called by the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let runs = state.withLock { state in
            if state.isPaused { state.held.append(job) } else { state.unfinished += 1 }
            return !state.isPaused
        }
        if runs { run(job) } else { signal.send() }
    }

    /// Keeps the steps that become ready from now on.
    public func pause() {
        state.withLock { $0.isPaused = true }
    }

    /// Runs what was kept, in order, and goes on.
    public func resume() {
        let jobs = state.withLock { state in
            state.isPaused = false
            let jobs = state.held
            state.held = []
            state.unfinished += jobs.count
            return jobs
        }
        for job in jobs { run(job) }
    }

    /// Runs the first of the kept steps, and returns when it is done: true, or false if none is kept.
    @discardableResult
    public func step() async -> Bool {
        let job = state.withLock { state -> UnownedJob? in
            guard !state.held.isEmpty else { return nil }
            state.unfinished += 1
            return state.held.removeFirst()
        }
        guard let job else { return false }
        run(job)
        await idle()
        return true
    }

    /// True if every task waits for something else (or for `resume`).
    public var isIdle: Bool { state.withLock { $0.unfinished == 0 } }

    /// Returns when every task waits for something else, or when the calling task is cancelled. Never call it from a
    /// task that runs here.
    public func idle() async {
        _ = await signal.wait(until: { isIdle })
    }

    /// Returns when at least that many steps are kept, or when the calling task is cancelled.
    public func held(atLeast count: Int = 1) async {
        _ = await signal.wait(until: { state.withLock { $0.held.count >= count } })
    }

    /// `idle` with a deadline: false if some task never waits.
    package func settled(atMost limit: Duration) async -> Bool {
        await signal.wait(atMost: limit, until: { self.isIdle })
    }

    private func run(_ job: UnownedJob) {
        queue.async { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            let isIdle = state.withLock { state in
                state.unfinished -= 1
                return state.unfinished == 0
            }
            if isIdle { signal.send() }
        }
    }
}
