/// Sends requests and says what comes of them. It decides nothing: no retries, no redirects, no cookies.
protocol Transport: Sendable {
    /// Sends a request. `told` is called one call at a time, from any thread: a head, any number of pieces, one end.
    /// After `cut` it may still be called.
    func start(_ id: ExchangeID, _ request: HTTPRequest, told: @escaping @Sendable (TransportEvent) -> Void)
    /// Gives a request up.
    func cut(_ id: ExchangeID)
    /// Gives up all, for good.
    func close()
}

/// An event of a request.
enum TransportEvent: Sendable {
    /// Status and fields, without a body.
    case head(HTTPAnswer)
    case bytes([UInt8])
    case end(TransportFailure?)
}
