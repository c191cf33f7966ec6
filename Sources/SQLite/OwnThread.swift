#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Carries a connection to the thread that will own it.
///
/// `@unchecked Sendable`, proof: the object is made by `DatabaseThread.init`, which hands its only reference to the
/// thread's closure and keeps none; afterwards that thread alone touches it. `pthread_create` orders the two.
final class ConnectionCarrier: @unchecked Sendable {
    private var connection: Connection?

    init(_ connection: consuming Connection) { self.connection = consume connection }

    /// The connection; the carrier is empty then.
    func unload() -> Connection {
        guard let connection = connection.take() else { preconditionFailure("cannot unload a carrier twice") }
        return connection
    }
}

/// Runs `body` on a new, detached thread: for what blocks, which no thread of a pool may.
public func startThread(_ body: @escaping @Sendable () -> Void) throws(DatabaseThreadError) {
    // Retained here, released by the thread's first step, or below if there is no thread.
    let box = Unmanaged.passRetained(ThreadBody(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, &attributes, { runThreadBody($0) }, box.toOpaque())
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, { runThreadBody($0) }, box.toOpaque())
    #endif
    guard result == 0 else {
        box.release()
        throw .noThread(result)
    }
}

private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// A thread's first step. `box` is what `startThread` retained; the parameter is optional on Linux only.
private func runThreadBody(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { preconditionFailure("a thread was started without its body") }
    Unmanaged<ThreadBody>.fromOpaque(box).takeRetainedValue().body()
    return nil
}
