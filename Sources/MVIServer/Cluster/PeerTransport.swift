/// Carries requests to other nodes: the processes that use the same journal.
///
/// `PostgresServer` has one; a server that runs as one node needs none.
public protocol PeerTransport: Sendable {
    /// Sends a request once and waits for its answer. Called on any thread, many times at once.
    ///
    /// - Parameters:
    ///   - request: what to send, with its bounds: the transport keeps them.
    ///   - address: a host and a port, such as `10.0.0.3:8080` or `[fd00::3]:8080`.
    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse

    /// Lets go of all connections. Called once, after the last request.
    func close() async
}
