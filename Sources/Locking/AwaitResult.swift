/// Starts `body` and waits for its result, which it delivers once, from any thread, also before `body` returns.
///
/// The result is passed through a lock, not through the continuation. If a continuation is resumed before the task has
/// suspended, Swift's runtime orders the two threads in a way that Thread Sanitizer does not see, which then sometimes
/// reports a race on objects that the result refers to.
package func awaitResult<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (@escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
    let result = Lock<Value?>(nil)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        body { value in
            result.withLock { $0 = value }
            continuation.resume()
        }
    }
    guard let value = result.withLock({ $0.take() }) else { preconditionFailure("resumed without a result") }
    return value
}
