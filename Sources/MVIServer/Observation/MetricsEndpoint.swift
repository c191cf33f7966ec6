import MicroHTTP
import PrometheusMetrics

/// `GET /metrics` on the admin address, for Prometheus.
struct MetricsEndpoint: Sendable {
    static let path = "/metrics"

    let registry: PrometheusRegistry

    var all: [Route] {
        [
            Route("showMetrics", Self.path) { [registry] incoming in
                let fields = [
                    ResponseField("Content-Type", PrometheusRegistry.mediaType),
                    ResponseField("Cache-Control", "no-store"), AnswerFields.noSniff,
                ]
                return Response(status: 200, fields: fields, body: .bytes(Array(registry.text.utf8)))
            }
        ]
    }
}
