import Locking

/// Carries a connection to the thread that will own it.
///
/// `@unchecked Sendable`, proof: `DatabaseThread.init` creates the object and gives its only reference to the thread's
/// closure; afterwards only that thread accesses it. `pthread_create` orders the two.
final class ConnectionCarrier: @unchecked Sendable {
    private var connection: Connection?

    init(_ connection: consuming Connection) { self.connection = consume connection }

    /// Returns the connection and leaves the carrier empty.
    func unload() -> Connection {
        guard let connection = connection.take() else { preconditionFailure("cannot unload a carrier twice") }
        return connection
    }
}

/// Runs `body` on a new detached thread, for blocking work that must not occupy a pool's thread.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(DatabaseThreadError) {
    guard let thread = SystemThread(body) else { throw .noThread }
    thread.detach()
}
