/// Returns a function that calls `done` at its `count`th call, on that call's thread.
package func countdown(from count: Int, then done: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let left = Lock(count)
    return {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { done() }
    }
}
