import Locking

/// Launched work that waits for a state of its store. It receives each committed state until the wait ends, with a
/// state or with an error.
@usableFromInline
final class StateWaiter<State: Sendable>: Sendable {
    private struct Progress {
        var result: Result<State, any Error>?
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let isMet: @Sendable (State) throws -> Bool
    private let progress = Lock(Progress())

    /// - Parameter isMet: returns true to end the wait with a state. An error that it throws also ends the wait.
    init(_ isMet: @escaping @Sendable (State) throws -> Bool) { self.isMet = isMet }

    /// Called without locks held.
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

    /// Returns the state that ends the wait.
    ///
    /// - Throws: the error of the condition; `CancellationError` if the calling task is canceled first.
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
    /// Returns the first committed state, beginning with the present one, that fulfills `isMet`. `isMet` is called in
    /// the commit of turns, and may end the wait by throwing.
    func state(where isMet: @escaping @Sendable (F.State) throws -> Bool) async throws -> F.State {
        try Task.checkCancellation()
        let waiter = StateWaiter(isMet)
        // Under one lock, so that no state is missed.
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

    /// Passes the committed state to waiting work. Called without locks held.
    @usableFromInline
    package func offerState() {
        let (state, waiters) = copies.withLock { ($0.head.state, $0.waiters) }
        for waiter in waiters ?? [] { waiter.offer(state) }
    }

    /// The number of pieces of work that wait for a state.
    @usableFromInline package var waiterCount: Int { copies.withLock { $0.waiters?.count ?? 0 } }
}

extension Work {
    /// Returns the first state that fulfills a condition: the present one, or that of a later committed turn. Of turns
    /// that are committed together only the last state is tested, as in ``state``.
    ///
    /// ```swift
    /// let order = try await work.state(where: { $0.isPaid }).order
    /// ```
    ///
    /// - Parameter isMet: the condition. Must be pure and fast, since it runs on the turns' thread.
    /// - Throws: `CancellationError` if the calling task or the work is canceled first, or the store ends.
    public func state(where isMet: @escaping @Sendable (F.State) -> Bool) async throws -> F.State {
        try await runner.state { [context] state in
            // The calling task may not be canceled with the work.
            guard context.host.isLive(context) else { throw CancellationError() }
            return isMet(state)
        }
    }
}
