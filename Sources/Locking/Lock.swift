#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A value that only one thread at a time can reach.
///
/// The only lock of this package. It wraps `pthread_mutex_t`, not `Synchronization.Mutex`: Thread Sanitizer on Linux
/// reports false races over the latter, and it would raise the deployment target of client code.
///
/// The rule for every user: no handler, callback, resume or system call runs inside `withLock`. Take what is needed,
/// leave, then act.
///
/// `@unchecked Sendable`, proof: the value is written in `init` and afterwards touched only in `withLock`, between
/// `pthread_mutex_lock` and `pthread_mutex_unlock` of the mutex in the same allocation; the mutex never moves, since
/// the tail allocation of a class instance has a fixed address. `Value` needs no `Sendable` of its own as long as no
/// reference to its parts leaves `withLock`; that is for each user to keep.
public struct Lock<Value>: @unchecked Sendable {
    @usableFromInline
    let storage: Storage

    /// The value's home and the mutex beside it, in one allocation.
    @usableFromInline
    final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
        @inlinable
        deinit {
            _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
        }
    }

    /// Makes a lock that guards `value`.
    @inlinable
    public init(_ value: Value) {
        let buffer = Storage.create(minimumCapacity: 1) { _ in value }
        storage = unsafeDowncast(buffer, to: Storage.self)
        let result = storage.withUnsafeMutablePointerToElements { mutex in
            pthread_mutex_init(mutex, nil)
        }
        precondition(result == 0, "pthread_mutex_init failed with \(result)")
    }

    /// Tells it from other locks, as long as it lives.
    @inlinable
    public var id: ObjectIdentifier { ObjectIdentifier(storage) }

    /// Runs `body` with exclusive access to the value, on the calling thread; waits for other threads first.
    /// Not reentrant: calling it again from `body` deadlocks.
    @inlinable
    @discardableResult
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // By its address: as a class's property it would be checked for overlapping access each time, which the mutex
        // rules out.
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
