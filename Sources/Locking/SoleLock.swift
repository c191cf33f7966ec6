import CLocking

/// A lock of which a thread has one at most: such locks cannot deadlock with each other, in whatever order they are taken.
/// A debug build ends at a second one.
public struct SoleLock<Value>: Sendable {
    @usableFromInline
    let lock: Lock<Value>

    @inlinable
    public init(_ value: Value) { lock = Lock(value) }

    /// As that of `Lock`.
    @inlinable
    @inline(__always)
    @discardableResult
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG
            let held = clocking_count_held(1)
            defer { clocking_count_held(-1) }
            precondition(held == 1, "a thread takes a lock while it has another one of those that stand alone")
        #endif
        return try lock.withLock(body)
    }
}
