/// What a server holds at one moment: for tests, leak checks and metrics.
public struct HTTPServerStatistics: Sendable, Equatable {
    /// Connections that libmicrohttpd has, idle ones included, streams not.
    public var openConnections = 0

    /// Requests begun and not yet completed, the suspended ones included.
    public var openRequests = 0

    /// Requests that wait suspended for `Exchange.respond`.
    public var suspendedExchanges = 0

    /// Streams that the reactor has.
    public var openStreams = 0

    /// Sockets kept a moment longer so that a refusal reaches a client that was still sending.
    public var lingeringSockets = 0

    /// Nothing at all.
    public init() {}
}
