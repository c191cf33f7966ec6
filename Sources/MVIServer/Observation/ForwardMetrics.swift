import CoreMetrics

/// Counts requests that were forwarded to other nodes, by outcome.
struct ForwardMetrics: Sendable {
    let answered: Counter
    /// The other node did not own the session.
    let refused: Counter
    /// There was no connection.
    let unreachable: Counter
    /// The request may have been served.
    let unanswered: Counter

    init(_ factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        func counter(_ result: String) -> Counter {
            Counter(label: "mvi_node_requests_total", dimensions: [("result", result)], factory: factory)
        }
        (answered, refused) = (counter("answered"), counter("refused"))
        (unreachable, unanswered) = (counter("unreachable"), counter("unanswered"))
    }
}
