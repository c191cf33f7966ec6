import DequeModule
import Locking
import MVI

/// Jobs that wait for a retry or are refused, since nothing can be committed.
extension TurnQueue {
    /// Refuses intents until `admit`. Returns those that wait, also to run again, to be ended with the error.
    func refuse(_ error: StoreError) -> [any QueueJob] {
        state.withLock { state in
            guard state.closed == nil else { return [] }
            let waiting = state.makeWaiting()
            waiting.refusal = error
            let again = waiting.again.map(\.jobs)
            waiting.again = again.compactMap { JobBatch($0.filter { $0.lane != .intents }) }
            return again.reversed().flatMap { $0.filter { $0.lane == .intents } } + waiting.lanes.takeIntents()
        }
    }

    /// Ends `refuse`.
    func admit() { state.withLock { $0.waiting?.refusal = nil } }

    /// True if the last retry failed.
    var isFailing: Bool { state.withLock { $0.failures > 0 } }

    /// Counts a failed attempt. Returns the number in a row.
    func noteFailure() -> Int {
        state.withLock { state in
            state.failures += 1
            return Int(state.failures)
        }
    }

    /// Keeps jobs for a retry. Returns the jobs without room, and true if the caller has to set a timer for `unpark`.
    func park(_ jobs: [any QueueJob]) -> (dropped: [any QueueJob], error: StoreError?, setsTimer: Bool) {
        state.withLock { state in
            if let closed = state.closed { return (jobs, closed, false) }
            let waiting = state.makeWaiting()
            var dropped: [any QueueJob] = []
            for job in jobs {
                let hasRoom = !job.isFailureTurn || waiting.parked.count(where: \.isFailureTurn) < Self.failureLimit
                if hasRoom { waiting.parked.append(job) } else { dropped.append(job) }
            }
            defer { waiting.isTimerSet = waiting.isTimerSet || !waiting.parked.isEmpty }
            return (dropped, nil, !waiting.isTimerSet && !waiting.parked.isEmpty)
        }
    }

    /// Stores the timer's task, unless it has fired already. Returns false if the queue was closed meanwhile.
    func attach(_ timer: Task<Void, Never>) -> Bool {
        state.withLock { state in
            if let waiting = state.waiting, waiting.isTimerSet { waiting.timer = timer }
            return state.closed == nil
        }
    }

    /// Enqueues the parked jobs for their retry. Returns true if the caller is the queue's runner now.
    func unpark() -> Bool {
        state.withLock { state in
            guard let waiting = state.waiting else { return false }
            (waiting.isTimerSet, waiting.timer) = (false, nil)
            guard state.closed == nil, !waiting.parked.isEmpty else { return false }
            waiting.lanes.prependSteps(waiting.parked)
            waiting.parked = []
            if state.isRunning { return false }
            state.isRunning = true
            return true
        }
    }
}
