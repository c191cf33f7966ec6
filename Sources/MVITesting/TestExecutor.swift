import Dispatch
import Locking

/// Runs tasks one step at a time, in the order in which the steps become ready, and detects when all of them wait.
///
/// Launched work of a store on this executor runs in the same order each time.
public final class TestExecutor: TaskExecutor, Sendable {
    private struct State {
        /// The number of enqueued steps that have not returned.
        var unfinished = 0
        var isPaused = false
        /// The steps that became ready while paused.
        var held: [UnownedJob] = []
    }

    private let queue = DispatchQueue(label: "MVITesting.TestExecutor")
    private let state = Lock(State())
    let signal = Signal()

    /// Creates an executor. A paused one holds steps until `resume`.
    public init(paused: Bool = false) {
        if paused { pause() }
    }

    /// Enqueues a step that is ready; called by the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let runs = state.withLock { state in
            if state.isPaused { state.held.append(job) } else { state.unfinished += 1 }
            return !state.isPaused
        }
        if runs { run(job) } else { signal.send() }
    }

    /// Holds the steps that become ready from now on.
    public func pause() {
        state.withLock { $0.isPaused = true }
    }

    /// Runs the held steps in order and continues.
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

    /// Runs the first held step. Returns true when it is done, or false if no step is held.
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

    /// True if each task waits for something else, or for `resume`.
    public var isIdle: Bool { state.withLock { $0.unfinished == 0 } }

    /// Returns when each task waits for something else, or when the calling task is canceled. Never call it from a task
    /// on this executor.
    public func idle() async {
        _ = await signal.wait(until: { isIdle })
    }

    /// Returns when at least `count` steps are held, or when the calling task is canceled.
    public func held(atLeast count: Int = 1) async {
        _ = await signal.wait(until: { state.withLock { $0.held.count >= count } })
    }

    /// `idle` with a deadline. Returns false if a task does not wait in time.
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
