import Locking

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
package func startThread(_ body: @escaping @Sendable () -> Void) throws(DatabaseThreadError) {
    guard let thread = SystemThread(body) else { throw .noThread }
    thread.detach()
}
