/// The sender of a request to this server.
enum RequestSender: Sendable {
    case client
    /// Another node, for a client. It has counted the request; the request is not forwarded again.
    case node
    /// A request with an invalid or outdated node stamp. It is handled like a client's but never forwarded: with
    /// different clocks, nodes would forward it in a loop.
    case unproven
}
