import Locking

extension ClientCore {
    /// Enqueues an intent, or without a body the disposal of a store, and waits for its answer.
    ///
    /// - Throws: ``RemoteError``, or `CancellationError` if the calling task is canceled.
    func send(
        _ body: [UInt8]?, to feature: String, key: String, completion: SendCompletion,
        progress: (@Sendable (IntentProgress) -> Void)? = nil
    ) async throws -> IntentReceipt {
        let number = Lock<UInt64?>(nil)
        // Passed through a lock instead of the continuation; see `awaitResult` in `Locking`.
        let outcome = Lock<IntentResult?>(nil)
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let made = send(body, to: feature, key: key, completion: completion, progress: progress) { result in
                    outcome.withLock { $0 = result }
                    continuation.resume()
                }
                number.withLock { $0 = made }
                // `onCancel` may have run before there was a number.
                if Task.isCancelled { cancel(intent: made) }
            }
        } onCancel: {
            if let made = number.withLock({ $0 }) { cancel(intent: made) }
        }
        guard let result = outcome.withLock({ $0.take() }) else { preconditionFailure("resumed without a result") }
        return try result.get()
    }
}
