import Locking
import MVI
import Networks
import SessionJournal

/// A request that waits. It ends once: by the awaited event or by its timeout.
final class Wait: Sendable {
    private struct State {
        var isOver = false
        var timer: Task<Void, Never>?
        var cleanUp: (@Sendable () -> Void)?
        /// The place that is left at its end.
        var place: NetworkPlaces.Place?
    }

    let number: UInt64
    /// The waiting client.
    let client: CallerID
    /// The time of its timeout, on the monotonic clock.
    let deadline: Duration
    private let finish: @Sendable (Bool) -> Void
    private let state = Lock(State())

    init(
        number: UInt64, client: CallerID = CallerID(session: nil, credential: 0), deadline: Duration = .zero,
        place: NetworkPlaces.Place? = nil,
        finish: @escaping @Sendable (Bool) -> Void
    ) {
        self.number = number
        self.client = client
        self.deadline = deadline
        self.finish = finish
        state.withLock { $0.place = place }
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Ends the wait. `came` is true for the awaited event. Only the first call counts.
    func end(_ came: Bool) {
        guard let (timer, cleanUp) = leave() else { return }
        timer?.cancel()
        if !came { cleanUp?() }
        finish(came)
    }

    /// Returns nil if it is over. The place is free when this returns, before any callback.
    private func leave() -> (timer: Task<Void, Never>?, cleanUp: (@Sendable () -> Void)?)? {
        let old = state.withLock { state -> State? in
            guard !state.isOver else { return nil }
            let old = state
            state = State(isOver: true)
            return old
        }
        return old.map { ($0.timer, $0.cleanUp) }
    }

    func start(_ timer: Task<Void, Never>) {
        let isOver = state.withLock { state in
            if !state.isOver { state.timer = timer }
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    /// Sets the cleanup for a timeout.
    func onTimeout(_ cleanUp: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.cleanUp = cleanUp }
            return state.isOver
        }
        // It may have ended before there was a cleanup.
        if isOver { cleanUp() }
    }
}

extension Session {
    /// The monotonic time at which a wait of `duration` that begins now ends.
    func endOfWait(for duration: Duration) -> Duration {
        shared.time.monotonic() + min(duration, shared.limits.longestWait)
    }

    /// Takes a place for a request that waits until `deadline` of the monotonic time at the latest; nil if there is
    /// none.
    func beginWait(
        until deadline: Duration, of client: SessionClient, then finish: @escaping @Sendable (Bool) -> Void
    ) -> Wait? {
        let limits = shared.limits
        let duration = deadline - shared.time.monotonic()
        guard duration > .zero, let place = try? shared.waitPlaces.take(for: client.address) else { return nil }
        let number = shared.nextNumber()
        let wait = Wait(
            number: number, client: client.id, deadline: deadline, place: place
        ) { [self] came in
            core.withLock { _ = $0.rare?.waits.removeValue(forKey: number) }
            finish(came)
        }
        let hasPlace = core.withLock { core in
            let count = core.waits.count { $0.client == wait.client }
            guard count < limits.waitsPerSession, core.isLive else { return false }
            core.makeRare().waits[number] = wait
            return true
        }
        guard hasPlace else { return nil }
        place.onGiveWay { [weak wait] in wait?.end(false) }
        // A client that has left keeps no place.
        client.onLeave? { [weak wait] in wait?.end(false) }
        shared.limit(wait, to: duration)
        return wait
    }

    /// The error for a request that cannot wait, with the time until the first of the client's waits is over at the
    /// latest.
    private func waitRefusal(of client: SessionClient) -> StoreError {
        guard !isEnded else { return .sessionEnded }
        let id = client.id
        let waits = core.withLock { $0.waits.filter { $0.client == id }.map(\.deadline) }
        guard waits.count >= shared.limits.waitsPerSession, let first = waits.min() else { return .tooManyWaits }
        return .tooManyWaits(retryAfter: max(.zero, first - shared.time.monotonic()))
    }

    /// Waits up to `wait` for the next change of a store's view state, then returns it; at once if it satisfies
    /// `isNews` already, or if nothing may wait. Creates the store if the session has none. Fails with `tooManyWaits`
    /// if no place is free, which slows down clients that ask in a loop.
    package func state(
        of feature: FeatureID, for client: SessionClient = SessionClient(), wait: Duration,
        until isNews: @escaping @Sendable (StateSnapshot) -> Bool,
        completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        state(of: feature, for: client) { [self] result in
            guard case .success(let now) = result, !isNews(now), wait > .zero, shared.limits.longestWait > .zero
            else { return completion(result) }
            // It is read as long as the request waits.
            let store = core.withLock { $0.stores[feature]?.store }.flatMap { $0.isObserving ? $0 : nil }
            store?.beginReading()
            let end = endOfWait(for: wait)
            let waiting = beginWait(until: end, of: client) { [self] came in
                defer { store?.endReading() }
                switch reading(as: client, feature, { $0.readState(of: feature) }) {
                case .success(let known?):
                    let state = show(known.state, isStale: known.isStale, to: client)
                    let rest = end - shared.time.monotonic()
                    // The client's audience sees no change.
                    if case .audiences = known.state, case .success(let same) = state, came, !isNews(same), rest > .zero
                    {
                        return self.state(of: feature, for: client, wait: rest, until: isNews, completion: completion)
                    }
                    completion(state)
                // The store was disposed or has to be reloaded: it is read like by any other request.
                case .success(nil): state(of: feature, for: client, completion: completion)
                case .failure(let refusal): completion(.failure(refusal))
                }
            }
            guard let waiting else {
                store?.endReading()
                return completion(.failure(waitRefusal(of: client)))
            }
            waitForChange(of: feature, since: now.audience?.version ?? now.version, waiting)
            waiting.onTimeout { [self] in
                core.withLock { core in
                    guard let index = core.stores.index(of: feature) else { return }
                    core.stores[index].waiters.removeAll { $0.number == waiting.number }
                }
            }
        }
    }

    /// Waits up to `wait` until none of a store's counted work runs, then returns its view state. Otherwise as the function
    /// above.
    package func settledState(
        of feature: FeatureID, for client: SessionClient = SessionClient(), wait: Duration,
        completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        let end = endOfWait(for: wait)
        state(of: feature, for: client) { [self] in settle($0, feature, client, until: end, completion) }
    }

    private func settle(
        _ result: Result<StateSnapshot, StoreError>, _ feature: FeatureID, _ client: SessionClient, until end: Duration,
        _ completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        let running = core.withLock { $0.stores[feature]?.store }?.countedIntents ?? []
        guard case .success = result, end > shared.time.monotonic(), !running.isEmpty else {
            return completion(result)
        }
        let waiting = beginWait(until: end, of: client) { [self] came in
            // A piece of work may have begun another one for another intent.
            let end = came ? end : shared.time.monotonic()
            state(of: feature, for: client) { [self] in settle($0, feature, client, until: end, completion) }
        }
        guard let waiting else { return completion(.failure(waitRefusal(of: client))) }
        let awaited = running.first { queue.whenSettled($0, id: waiting.number) { waiting.end(true) } }
        // Another node's work: it is not counted here.
        guard let awaited else { return waiting.end(false) }
        waiting.onTimeout { [self] in queue.stopWaiting(for: awaited, id: waiting.number) }
    }

    private func waitForChange(of feature: FeatureID, since version: UInt64, _ waiting: Wait) {
        let isWaiting = core.withLock { core in
            guard let index = core.stores.index(of: feature), core.stores[index].version == version else {
                return false
            }
            core.stores[index].waiters.append(VersionWaiter(number: waiting.number) { waiting.end(true) })
            return true
        }
        if !isWaiting { waiting.end(true) }
    }
}

extension SessionEnvironment {
    /// Ends a wait at a timeout, unless the awaited event came first; then calls `then`.
    func limit(_ wait: Wait, to time: Duration, then: @escaping @Sendable () -> Void = {}) {
        let sleep = clock.sleeping(for: time)
        wait.start(
            Task(executorPreference: executor) {
                guard (try? await sleep()) != nil else { return }
                wait.end(false)
                then()
            })
    }

    /// Calls `body` after a time. Nothing cancels it.
    func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
        let sleep = clock.sleeping(for: time)
        Task(executorPreference: executor) {
            try? await sleep()
            body()
        }
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a sleep that ends a time after this call, also if a busy machine begins it late.
    fileprivate func sleeping(for time: Duration) -> @Sendable () async throws -> Void {
        let end = now.advanced(by: time)
        return { try await sleep(until: end, tolerance: nil) }
    }
}
