/// A reading of a server's metrics.
struct Metrics: Sendable {
    private let series: [String: [MetricSample]]
    /// The time of the reading: seconds since 1970.
    let time: Double

    /// - Parameter time: seconds since 1970.
    init(_ samples: [MetricSample], time: Double) {
        series = Dictionary(grouping: samples) { $0.name }
        self.time = time
    }

    /// True if the text has a metric of this server.
    var isOfServer: Bool { series.keys.contains { $0.hasPrefix("mvi_") } }

    /// The values of a metric.
    func samples(_ name: String) -> [MetricSample] { series[name] ?? [] }

    /// The sum of a metric's values; nil without values.
    func value(_ name: String) -> Double? {
        guard let samples = series[name], !samples.isEmpty else { return nil }
        return samples.reduce(0) { $0 + $1.value }
    }

    /// The histograms of a metric by a label's value; with a nil `label`, all under the empty text.
    func histograms(_ name: String, by label: String?) -> [String: Histogram] {
        var found: [String: Histogram] = [:]
        func group(_ sample: MetricSample) -> String { label.flatMap { sample.labels[$0] } ?? "" }
        for sample in samples(name + "_bucket") {
            guard let bound = sample.labels["le"].flatMap({ Double($0) }) else { continue }
            found[group(sample), default: Histogram()].add(bound: bound, count: sample.value)
        }
        for sample in samples(name + "_count") { found[group(sample), default: Histogram()].count += sample.value }
        for sample in samples(name + "_sum") { found[group(sample), default: Histogram()].sum += sample.value }
        return found
    }
}

/// The values of a histogram: the number of observations for each upper bound.
struct Histogram: Sendable, Equatable {
    /// The counts by upper bound, which include all smaller observations.
    private(set) var buckets: [Double: Double] = [:]
    var count = 0.0
    var sum = 0.0

    mutating func add(bound: Double, count: Double) { buckets[bound, default: 0] += count }

    /// Returns the observations since an earlier reading, or all after a reset.
    func since(_ earlier: Histogram) -> Histogram {
        guard count >= earlier.count, buckets.allSatisfy({ $0.value >= earlier.buckets[$0.key] ?? 0 }) else {
            return self
        }
        var difference = Histogram()
        for (bound, count) in buckets { difference.buckets[bound] = count - (earlier.buckets[bound] ?? 0) }
        difference.count = count - earlier.count
        difference.sum = sum - earlier.sum
        return difference
    }

    var mean: Double? { count > 0 ? sum / count : nil }

    /// The quantile of the observations, interpolated in its bucket; nil without observations. Above the last bound,
    /// the result is that bound.
    func quantile(_ part: Double) -> Quantile? {
        guard count > 0 else { return nil }
        let rank = part * count
        var (lower, below) = (0.0, 0.0)
        for (bound, upTo) in buckets.sorted(by: { $0.key < $1.key }) {
            guard upTo >= rank, upTo > below else {
                (lower, below) = (bound, upTo)
                continue
            }
            if bound == .infinity { return Quantile(value: lower, isBeyond: true) }
            return Quantile(value: lower + (bound - lower) * (rank - below) / (upTo - below), isBeyond: false)
        }
        return nil
    }

    struct Quantile: Sendable, Equatable {
        let value: Double
        /// True if the quantile is larger than `value`, which is the last bound.
        let isBeyond: Bool
    }
}
