import Locking

/// The result of one call of a journal, which may be awaited once.
final class Answer<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var continuation: CheckedContinuation<Void, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())
    private let onRepetition: @Sendable () -> Void

    /// - Parameter onRepetition: Called for each result after the first.
    init(onRepetition: @escaping @Sendable () -> Void) { self.onRepetition = onRepetition }

    func give(_ value: Value) {
        let (isFirst, continuation) = state.withLock { state in
            guard state.value == nil else { return (false, nil as CheckedContinuation<Void, Never>?) }
            state.value = value
            defer { state.continuation = nil }
            return (true, state.continuation)
        }
        if !isFirst { onRepetition() }
        continuation?.resume()
    }

    /// Waits for the result.
    ///
    /// - Throws: `CancellationError` if the task is canceled first.
    var value: Value {
        get async throws {
            // Also if the result is available: a check in a loop ends at its time limit, and competing tasks take
            // turns.
            try Task.checkCancellation()
            await Task.yield()
            await withTaskCancellationHandler {
                // The value is read under the lock afterwards: see `awaitResult`.
                await withCheckedContinuation { continuation in
                    let isOver = state.withLock { state in
                        if state.value != nil || state.isCancelled { return true }
                        state.continuation = continuation
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                let continuation = state.withLock { state in
                    state.isCancelled = true
                    defer { state.continuation = nil }
                    return state.continuation
                }
                continuation?.resume()
            }
            guard let value = state.withLock({ $0.value }) else { throw CancellationError() }
            return value
        }
    }
}
