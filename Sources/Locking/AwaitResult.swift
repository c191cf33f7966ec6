/// Starts `body` and waits for the result that it hands over: once, from any thread, also before `body` returns.
///
/// The result goes through a lock, not through the continuation. When a continuation is resumed before the task has
/// suspended, Swift's runtime orders the two threads in a way that Thread Sanitizer does not see, and what the result
/// refers to, such as the content of an error, would be reported as a race now and then.
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
