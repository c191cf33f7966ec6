/// A function that calls `done` when it has been called so often, by the last of its callers.
package func calls(_ count: Int, then done: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let left = Lock(count)
    return {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { done() }
    }
}
