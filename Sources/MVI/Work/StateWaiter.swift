import Locking

/// Launched work that waits for a state of its store. It is offered each one that is committed until the wait ends, once: with
/// a state or with an error.
@usableFromInline
final class StateWaiter<State: Sendable>: Sendable {
    private struct Progress {
        var result: Result<State, any Error>?
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let isMet: @Sendable (State) throws -> Bool
    private let progress = Lock(Progress())

    /// - Parameter isMet: whether the wait ends with a state; what it throws ends the wait, too.
    init(_ isMet: @escaping @Sendable (State) throws -> Bool) { self.isMet = isMet }

    /// Called under no lock.
    func offer(_ state: State) {
        do {
            if try isMet(state) { end(.success(state)) }
        } catch {
            end(.failure(error))
        }
    }

    private func end(_ result: Result<State, any Error>) {
        progress.withLock { progress -> CheckedContinuation<Void, Never>? in
            guard progress.result == nil else { return nil }
            progress.result = result
            return progress.continuation.take()
        }?.resume()
    }

    /// The state that the wait ends with.
    ///
    /// - Throws: what the condition threw; `CancellationError` if the calling task is cancelled first.
    func found() async throws -> State {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = progress.withLock { progress in
                    if progress.result == nil { progress.continuation = continuation }
                    return progress.result != nil
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            end(.failure(CancellationError()))
        }
        guard let result = progress.withLock({ $0.result }) else { preconditionFailure("resumed without a result") }
        return try result.get()
    }
}

extension TurnRunner {
    /// The first committed state of which `isMet` holds, from the present one on. `isMet` is called where turns are
    /// committed, and may end the wait by a throw.
    func state(where isMet: @escaping @Sendable (F.State) throws -> Bool) async throws -> F.State {
        try Task.checkCancellation()
        let waiter = StateWaiter(isMet)
        // In one step, so that no state is missed.
        let state = copies.withLock { copies in
            copies.waiters = (copies.waiters ?? []) + [waiter]
            return copies.head.state
        }
        defer {
            copies.withLock { copies in
                let others = copies.waiters?.filter { $0 !== waiter } ?? []
                copies.waiters = others.isEmpty ? nil : others
            }
        }
        waiter.offer(state)
        return try await waiter.found()
    }

    /// Offers the committed state to the work that waits for one. Called under no lock.
    @usableFromInline
    func offerState() {
        let (state, waiters) = copies.withLock { ($0.head.state, $0.waiters) }
        for waiter in waiters ?? [] { waiter.offer(state) }
    }

    /// The number of pieces of work that wait for a state.
    @usableFromInline package var waiterCount: Int { copies.withLock { $0.waiters?.count ?? 0 } }
}

extension Work {
    /// Returns the first state of which a condition holds: the present one, or that of a later turn, once it is committed. Of
    /// turns that are committed together only the last one's state is looked at, as ``state`` shows it.
    ///
    /// ```swift
    /// let order = try await work.state(where: { $0.isPaid }).order
    /// ```
    ///
    /// - Parameter isMet: the condition: pure and quick, since it is asked where turns run.
    /// - Throws: `CancellationError` if the calling task or the work is cancelled first, or the store ends.
    public func state(where isMet: @escaping @Sendable (F.State) -> Bool) async throws -> F.State {
        try await runner.state { [context] state in
            // It may wait in a task that is not cancelled with the work.
            guard context.host.isLive(context) else { throw CancellationError() }
            return isMet(state)
        }
    }
}
