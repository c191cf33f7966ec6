import MicroHTTP
import PrometheusMetrics

/// `GET /metrics` on the admin port, for Prometheus.
enum MetricsEndpoint {
    static func route(_ registry: PrometheusRegistry, _ guarding: AdminGuard) -> Route {
        Route(
            "adminReadMetrics", .get, "/metrics",
            guarding.metricsAccess { _ in
                { _, reply in
                    let fields = [
                        ResponseField("Content-Type", PrometheusRegistry.mediaType),
                        ResponseField("Cache-Control", "no-store"), AnswerFields.noSniff,
                    ]
                    reply.answer(
                        Response(status: 200, fields: fields, body: .bytes(Array(registry.text.utf8))))
                }
            })
    }
}
