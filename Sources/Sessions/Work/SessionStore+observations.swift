import Locking
import MVI
import Synchronization

/// Its observations, and those who wait for their first results.
extension SessionStore {
    /// True if it has ever observed something.
    var isObserving: Bool { observes.load(ordering: .relaxed) }

    /// True if its state may lack the results of observations.
    var isStale: Bool { state.withLock { $0.observing != nil && $0.work.freshness != .fresh } }

    /// True if a reader should wait.
    var awaitsResult: Bool { state.withLock { $0.awaitsResult } }

    /// Adds a reader: observations run for it.
    func beginReading() {
        begin(change { state, change in if !state.isEnded { state.work.beginReading(&change) } }.started)
        if session.shared.lease != nil, isHeldBack { session.claimHeldBack() }
    }

    /// Removes a reader.
    func endReading() { begin(state.withLock { $0.work.watching.endReading() }) }

    /// The time for which readers wait for observations.
    static let longestObservation: Duration = .seconds(1)

    /// Calls `then` once, when the running observations have results, or in vain after a second. Returns false, and does
    /// not call, if nothing is to wait for.
    func whenObserved(_ then: @escaping @Sendable () -> Void) -> Bool {
        let (isWaiting, isFirst) = state.withLock { state in
            guard state.awaitsResult, let observing = state.observing else { return (false, false) }
            observing.waiters.append(then)
            return (true, observing.waiters.count == 1)
        }
        guard isFirst else { return isWaiting }
        let timer = Task(executorPreference: environment.executor) { [weak self, clock = environment.clock] in
            let isOver = await Patience.$isPatience.withValue(true) {
                (try? await clock.sleep(for: Self.longestObservation)) != nil
            }
            if isOver { self?.noteOverdue() }
        }
        let isKept = state.withLock { state in
            guard let observing = state.observing, !observing.waiters.isEmpty else { return false }
            observing.timer?.cancel()
            observing.timer = timer
            return true
        }
        if !isKept { timer.cancel() }
        return true
    }

    private func noteOverdue() {
        let waiters = state.withLock { state -> [@Sendable () -> Void] in
            guard let observing = state.observing, state.awaitsResult else { return [] }
            observing.isOverdue = true
            defer { (observing.waiters, observing.timer) = ([], nil) }
            return observing.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// True if its state is stale. A stream that shows it so is told when it is not any more. May be called under the
    /// session's lock.
    func showsStale() -> Bool {
        state.withLock { state in
            guard let observing = state.observing, state.work.freshness != .fresh else { return false }
            observing.isShownStale = true
            return true
        }
    }

    func tell(_ observed: Observed) {
        observed.timer?.cancel()
        if observed.isFreshAgain { session.showFresh(feature) }
        for waiter in observed.waiters { waiter() }
    }
}

extension SessionStore.State {
    var awaitsResult: Bool {
        guard let observing, !isEnded else { return false }
        return !observing.isOverdue && work.freshness == .awaited
    }

    /// Takes the callbacks that nothing keeps waiting any more.
    mutating func takeObserved() -> SessionStore.Observed? {
        guard let observing else { return nil }
        if !work.hasAwaited { observing.isOverdue = false }
        let freshness = work.freshness
        if freshness == .awaited, !isEnded { return nil }
        let isFreshAgain = observing.isShownStale && freshness == .fresh
        if isFreshAgain { observing.isShownStale = false }
        defer { (observing.waiters, observing.timer) = ([], nil) }
        return SessionStore.Observed(waiters: observing.waiters, timer: observing.timer, isFreshAgain: isFreshAgain)
    }
}
