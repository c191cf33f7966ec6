/// A server's metrics at one moment.
struct Metrics: Sendable {
    private let series: [String: [MetricSample]]
    /// The time of reading: seconds since 1970.
    let time: Double

    /// - Parameter time: seconds since 1970.
    init(_ samples: [MetricSample], time: Double) {
        series = Dictionary(grouping: samples) { $0.name }
        self.time = time
    }

    /// True if the text that they come from had any metric of this server's.
    var isOfServer: Bool { series.keys.contains { $0.hasPrefix("mvi_") } }

    /// The values of one name.
    func samples(_ name: String) -> [MetricSample] { series[name] ?? [] }

    /// The sum of all values of a name; nil if there is none.
    func value(_ name: String) -> Double? {
        guard let samples = series[name], !samples.isEmpty else { return nil }
        return samples.reduce(0) { $0 + $1.value }
    }

    /// The values of a histogram, by the value of a label; all under one empty text where `label` is nil.
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

/// A histogram's values: how many observations were at most so large.
struct Histogram: Sendable, Equatable {
    /// By their upper bounds, which include all below.
    private(set) var buckets: [Double: Double] = [:]
    var count = 0.0
    var sum = 0.0

    mutating func add(bound: Double, count: Double) { buckets[bound, default: 0] += count }

    /// Returns the values since an earlier reading; all values if the counts have restarted.
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

    /// The value that so large a part of the observations was at most, taken as spread evenly inside their bucket; nil
    /// without observations. Of those beyond the last bound only that bound is known.
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
        /// True if it is larger than `value`, which is the last bound.
        let isBeyond: Bool
    }
}
