/// Sends requests and reports their answers, without retries, redirects or cookies.
protocol Transport: Sendable {
    /// Sends a request. `told` is called from any thread, one call at a time, with a head, any number of pieces and one
    /// end. It may still be called after `cut`.
    func start(_ id: ExchangeID, _ request: HTTPRequest, told: @escaping @Sendable (TransportEvent) -> Void)
    /// Cancels a request.
    func cut(_ id: ExchangeID)
    /// Cancels all requests for good.
    func close()
}

/// An event of a request.
enum TransportEvent: Sendable {
    /// The status and fields, without a body.
    case head(HTTPAnswer)
    case bytes([UInt8])
    case end(TransportFailure?)
}
