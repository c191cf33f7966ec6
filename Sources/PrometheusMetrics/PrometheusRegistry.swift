import CoreMetrics
import Locking

/// A swift-metrics factory that keeps metrics in memory and writes them in Prometheus's text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
///
/// Counters and timers, meters and recorders become counters, gauges and histograms. Names are adapted to Prometheus:
/// other characters become `_`, a counter's name ends in `_total`, a timer's in `_seconds`. Metrics with the same name
/// and labels share one series, so numbers never decrease.
///
/// All members may be used from any thread; changing a series takes no lock.
public final class PrometheusRegistry: MetricsFactory {
    /// The `Content-Type` of `text`.
    public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// The default upper bounds of a timer's buckets, in seconds: from 100 µs to 10 s.
    public static let timeBuckets: [Double] = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// The default upper bounds of an aggregating recorder's buckets.
    public static let sizeBuckets: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 4_096]

    private struct State {
        var families: [String: Family] = [:]
        var scrapes: [@Sendable () -> Void] = []
        /// The number of series that were dropped because their family was full or of another kind.
        var dropped: Int64 = 0
    }

    private let state = Lock(State())
    private let seriesPerFamily: Int

    /// Creates a registry without metrics.
    ///
    /// - Parameter seriesPerFamily: the limit of label combinations per metric. Further ones are dropped and counted in
    ///   `metrics_dropped_series_total`, so that labels with values from clients cannot fill the memory.
    public init(seriesPerFamily: Int = 2_000) { self.seriesPerFamily = seriesPerFamily }

    /// Sets a metric's `HELP` line and the buckets of its histogram. Call it before the metric is first used.
    ///
    /// - Parameters:
    ///   - name: the name in Prometheus, with `_total` or `_seconds`.
    ///   - buckets: upper bounds in ascending order, without infinity; nil for the default ones.
    public func describe(_ name: String, help: String, buckets: [Double]? = nil) {
        state.withLock { state in
            let family = state.families[name] ?? Family()
            family.help = help
            if let buckets { family.buckets = buckets }
            state.families[name] = family
        }
    }

    /// Calls `action` at the beginning of each `text`, on its thread: use it to set meters to measured values.
    public func onScrape(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.scrapes.append(action) } }

    /// Every metric that has a series, by name.
    public var text: String {
        for scrape in state.withLock({ $0.scrapes }) { scrape() }
        let (families, dropped) = state.withLock { state in
            (state.families.sorted { $0.key < $1.key }.map { ($0.key, $0.value.snapshot) }, state.dropped)
        }
        var text = ""
        for (name, family) in families { family?.append(to: &text, name) }
        if dropped > 0 {
            text += """
                # HELP metrics_dropped_series_total Series that were not kept: their metric had too many, or was of another kind.
                # TYPE metrics_dropped_series_total counter
                metrics_dropped_series_total \(dropped)

                """
        }
        return text
    }

    // MARK: MetricsFactory

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(MetricName.counter(label), dimensions, .counter) { _ in CounterSeries() }
    }

    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(MetricName.counter(label), dimensions, .counter) { _ in SumSeries() }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(MetricName.plain(label), dimensions, .gauge) { _ in GaugeSeries() }
    }

    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let name = MetricName.plain(label)
        guard aggregate else { return series(name, dimensions, .gauge) { _ in GaugeSeries() } }
        return series(name, dimensions, .histogram) { HistogramSeries(bounds: $0 ?? Self.sizeBuckets) }
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(MetricName.timer(label), dimensions, .histogram) {
            HistogramSeries(bounds: $0 ?? Self.timeBuckets)
        }
    }

    /// Removes the series, and its metric with the last one.
    public func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { forget(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    /// Returns the series of those labels, created if needed. A dropped one counts for itself and is not written.
    private func series<S: Series>(
        _ name: String, _ dimensions: [(String, String)], _ kind: Family.Kind, _ make: ([Double]?) -> S
    ) -> S {
        let labels = LabelSet(dimensions)
        // Created before the lock, and usually kept.
        let buckets = state.withLock { $0.families[name]?.buckets }
        let new = make(buckets)
        return state.withLock { state in
            let family = state.families[name] ?? Family()
            state.families[name] = family
            if let known = family.series[labels] as? S { return known }
            let isFree = family.series[labels] == nil && family.series.count < seriesPerFamily
            guard isFree, family.series.isEmpty || family.kind == kind else {
                state.dropped += 1
                return new
            }
            family.kind = kind
            family.series[labels] = new
            return new
        }
    }

    private func forget(_ handler: AnyObject) {
        state.withLock { state in
            for family in state.families.values {
                for (labels, series) in family.series where series === handler { family.series[labels] = nil }
            }
        }
    }
}
