/// A function that calls `done` when it is called for the `count`th time, on the thread of that call.
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
