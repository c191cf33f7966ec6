#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A value with exclusive access for one thread at a time.
///
/// The only lock of this package. It wraps `pthread_mutex_t`, not `Synchronization.Mutex`: Thread Sanitizer on Linux
/// reports false races for the latter, and it would raise the deployment target of client code.
///
/// Inside `withLock`, never call a handler, callback, resume or system call. Copy what is needed, leave, then act.
///
/// `@unchecked Sendable`, proof: the value is written in `init` and afterwards accessed only in `withLock`, between
/// `pthread_mutex_lock` and `pthread_mutex_unlock` of the mutex in the same allocation. The mutex never moves, since
/// the tail allocation of a class instance has a fixed address. `Value` need not be `Sendable` if no reference to its
/// parts leaves `withLock`, which each user must ensure.
public struct Lock<Value>: @unchecked Sendable {
    @usableFromInline
    let storage: Storage

    /// The value and its mutex in one allocation.
    @usableFromInline
    final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
        @inlinable
        deinit {
            _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
        }
    }

    /// Creates a lock that guards `value`.
    @inlinable
    public init(_ value: Value) {
        let buffer = Storage.create(minimumCapacity: 1) { _ in value }
        storage = unsafeDowncast(buffer, to: Storage.self)
        let result = storage.withUnsafeMutablePointerToElements { mutex in
            pthread_mutex_init(mutex, nil)
        }
        precondition(result == 0, "pthread_mutex_init failed with \(result)")
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
        // By address: a class's property would be checked for exclusive access each time, which the mutex already
        // ensures.
        try storage.withUnsafeMutablePointers { value, mutex throws(Failure) in
            let locked = pthread_mutex_lock(mutex)
            precondition(locked == 0, "pthread_mutex_lock failed with \(locked)")
            defer {
                let unlocked = pthread_mutex_unlock(mutex)
                precondition(unlocked == 0, "pthread_mutex_unlock failed with \(unlocked)")
            }
            return try body(&value.pointee)
        }
    }
}
