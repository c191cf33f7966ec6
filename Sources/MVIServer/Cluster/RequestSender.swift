/// The sender of a request to this server.
enum RequestSender: Sendable {
    case client
    /// Another node, for a client: it has counted the request already, and sends it nowhere else.
    case node
    /// It has a node's stamp which proves nothing, at least not any more. As a client's, but never sent on: the nodes' clocks
    /// may differ, and the request go round for ever.
    case unproven
}
