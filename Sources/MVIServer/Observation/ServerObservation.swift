import CoreMetrics
import Instrumentation
import MVI
import PrometheusMetrics
import Sessions
import Tracing

/// The destinations of a server's metrics and traces.
package struct ServerObservation: Sendable {
    /// Makes the metrics.
    let factory: any MetricsFactory
    /// The registry that `/metrics` prints; nil with another factory.
    let registry: PrometheusRegistry?
    /// Nil without tracing.
    let tracer: (any Tracer)?

    package init(_ factory: any MetricsFactory = NOOPMetricsHandler.instance, tracer: (any Tracer)? = nil) {
        self.factory = factory
        self.tracer = tracer
        registry = factory as? PrometheusRegistry
        if let registry { MetricsCatalogue.describe(in: registry) }
    }

    /// The tracer that the process was bootstrapped with; nil without one.
    static var tracer: (any Tracer)? {
        InstrumentationSystem.instrument is NoOpInstrument ? nil : InstrumentationSystem.tracer
    }

    /// Updates the server's gauges for each request of `/metrics`.
    func watch(_ gauges: ServerGauges) {
        guard let registry else { return }
        let process = ProcessMetrics(factory)
        registry.onScrape {
            gauges.update()
            process.update()
        }
    }
}
