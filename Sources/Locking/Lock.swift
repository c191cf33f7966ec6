import CLocking

/// A value with exclusive access for one thread at a time.
///
/// The only lock of this package. It has four bytes, over a futex on Linux and `os_unfair_lock` on Apple's systems, since
/// an idle session has several. Not `Synchronization.Mutex`: Thread Sanitizer on Linux reports false races for it, and it
/// would raise the deployment target of client code.
///
/// Inside `withLock`, never call a handler, callback, resume or system call. Copy what is needed, leave, then act.
///
/// `@unchecked Sendable`, proof: the value is written in `init` and afterwards accessed only in `withLock`, between
/// `clocking_lock` and `clocking_unlock` of the word in the same allocation. The word never moves, since the tail
/// allocation of a class instance has a fixed address. `Value` need not be `Sendable` if no reference to its
/// parts leaves `withLock`, which each user must ensure.
public struct Lock<Value>: @unchecked Sendable {
    @usableFromInline
    let storage: Storage

    /// The value and its lock in one allocation.
    @usableFromInline
    final class Storage: ManagedBuffer<Value, UInt32> {}

    /// Creates a lock that guards `value`.
    @inlinable
    public init(_ value: Value) {
        let buffer = Storage.create(minimumCapacity: 1) { _ in value }
        storage = unsafeDowncast(buffer, to: Storage.self)
        storage.withUnsafeMutablePointerToElements { $0.initialize(to: 0) }
    }

    /// An identifier that is unique for the lock's lifetime.
    @inlinable
    public var id: ObjectIdentifier { ObjectIdentifier(storage) }

    /// Runs `body` with exclusive access to the value, on the calling thread, after waiting for other threads. Not
    /// reentrant: calling it again from `body` deadlocks.
    @inlinable
    @discardableResult
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // By address: a class's property would be checked for exclusive access each time, which the lock already
        // ensures.
        try storage.withUnsafeMutablePointers { value, word throws(Failure) in
            clocking_lock(word)
            defer { clocking_unlock(word) }
            return try body(&value.pointee)
        }
    }
}
