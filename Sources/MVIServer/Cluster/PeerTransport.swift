/// Sends requests to other nodes: the processes that use the same journal.
///
/// `PostgresServer` has a transport. A single server needs none.
public protocol PeerTransport: Sendable {
    /// Sends a request once and returns its answer. Called on any thread, also concurrently.
    ///
    /// - Parameters:
    ///   - request: the request, with the timeout and the size that the transport has to enforce.
    ///   - address: a host and a port, such as `10.0.0.3:8080` or `[fd00::3]:8080`.
    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse

    /// Closes all connections. Called once, after the last request.
    func close() async
}
