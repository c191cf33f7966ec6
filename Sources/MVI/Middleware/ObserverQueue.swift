import Dispatch
import Locking
import Tracing

/// Passes a store's observations to its observers, in order, on dedicated threads. A store never waits for its
/// observers, and an observer that blocks delays only other observers.
@usableFromInline
final class ObserverQueue<F: Feature>: Sendable {
    private struct State {
        var waiting: [StoreObservation<F>] = []
        var isDelivering = false
        var missed = 0
        var failures = 0
        var caughtUp: [CheckedContinuation<Void, Never>] = []
    }

    /// The maximum number of waiting observations. Beyond it, new ones are dropped and counted.
    private static var limit: Int { 10_000 }

    private let observers: [Middleware<F>.Observer]
    private let witnesses: [Middleware<F>.Witness]
    private let thread = ObserverThreads.next()
    private let state = Lock(State())

    @usableFromInline
    init(_ middleware: Middleware<F>) { (observers, witnesses) = (middleware.observers, middleware.witnesses) }

    var counts: (missed: Int, failures: Int) { state.withLock { ($0.missed, $0.failures) } }

    @usableFromInline
    func append(
        _ events: [StoreObservation<F>.Event], _ intentID: IntentID, _ instance: String, _ session: SessionInfo,
        _ principal: Principal?, _ trace: ServiceContext?, _ witnessed: Witnessed<F>
    ) {
        for witness in witnesses { witness(events, intentID, instance, witnessed) }
        if observers.isEmpty { return }
        let observations = events.map {
            StoreObservation(
                event: $0, intentID: intentID, instance: instance, session: session, principal: principal,
                trace: trace)
        }
        let isFirst = state.withLock { state -> Bool in
            let room = max(0, Self.limit - state.waiting.count)
            state.waiting += observations.prefix(room)
            state.missed += max(0, observations.count - room)
            guard !state.isDelivering, !state.waiting.isEmpty else { return false }
            state.isDelivering = true
            return true
        }
        guard isFirst else { return }
        thread.async { [self] in deliver() }
    }

    private func deliver() {
        while true {
            var waiters: [CheckedContinuation<Void, Never>] = []
            let batch = state.withLock { state -> [StoreObservation<F>] in
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

/// The threads of all observers. They are separate from Swift's pool, whose size is the number of cores: there, a
/// blocked observer would delay launched work of all stores.
private enum ObserverThreads {
    private static let all = (0..<4).map { DispatchQueue(label: "MVI.observers.\($0)") }

    /// Distributes observer queues over the threads.
    static func next() -> DispatchQueue { all[Int.random(in: 0..<all.count)] }
}
