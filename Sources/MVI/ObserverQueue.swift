import Locking

/// Hands a store's observations to its observers, in order, on a task of its own: the store never waits for them.
@usableFromInline
final class ObserverQueue<F: Feature>: Sendable {
    private struct State {
        var waiting: [Observation<F>] = []
        var isDelivering = false
        var missed = 0
        var failures = 0
        var caughtUp: [CheckedContinuation<Void, Never>] = []
    }

    /// How many observations may wait; beyond that the newest are dropped and counted.
    private static var limit: Int { 10_000 }

    private let observers: [Middleware<F>.Observer]
    private let executor: (any TaskExecutor)?
    private let state = Lock(State())

    init(_ observers: [Middleware<F>.Observer], executor: (any TaskExecutor)?) {
        self.observers = observers
        self.executor = executor
    }

    var counts: (missed: Int, failures: Int) { state.withLock { ($0.missed, $0.failures) } }

    func append(_ observations: [Observation<F>]) {
        guard !observations.isEmpty else { return }
        let isFirst = state.withLock { state -> Bool in
            let room = max(0, Self.limit - state.waiting.count)
            state.waiting.append(contentsOf: observations.prefix(room))
            state.missed += max(0, observations.count - room)
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isFirst else { return }
        Task(executorPreference: executor) { [self] in deliver() }
    }

    private func deliver() {
        while true {
            var waiters: [CheckedContinuation<Void, Never>] = []
            let batch = state.withLock { state -> [Observation<F>] in
                let batch = state.waiting
                state.waiting = []
                if batch.isEmpty {
                    state.isDelivering = false
                    waiters = state.caughtUp
                    state.caughtUp = []
                }
                return batch
            }
            for waiter in waiters { waiter.resume() }
            if batch.isEmpty { return }
            for observation in batch {
                for observer in observers {
                    do { try observer(observation) } catch { state.withLock { $0.failures += 1 } }
                }
            }
        }
    }

    func caughtUp() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state -> Bool in
                if state.isDelivering { state.caughtUp.append(continuation) }
                return !state.isDelivering
            }
            if isIdle { continuation.resume() }
        }
    }
}
