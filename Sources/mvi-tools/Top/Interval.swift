/// The changes between two readings.
struct Interval: Sendable {
    let before: Metrics
    let after: Metrics

    /// Nil if no time passed between them.
    init?(_ before: Metrics, _ after: Metrics) {
        guard after.time > before.time else { return nil }
        (self.before, self.after) = (before, after)
    }

    /// The duration; for a new process since its start.
    var seconds: Double {
        let whole = after.time - before.time
        guard isOfNewProcess, let start = after.value(MetricNames.start) else { return whole }
        return min(whole, max(0.1, after.time - start))
    }

    /// True if the process was restarted, so that its counters began at zero.
    var isOfNewProcess: Bool {
        guard let old = before.value(MetricNames.start), let new = after.value(MetricNames.start) else { return false }
        // Two readings of the same start may differ by rounding.
        return abs(old - new) > 1
    }

    /// The rate per second of a counter, the sum of its series; nil if there is no such counter.
    func rate(_ name: String) -> Double? {
        guard after.value(name) != nil else { return nil }
        return rates(name) { _ in "" }.values.first ?? 0
    }

    /// The rates of a counter by a label's value, without zeros.
    func rates(_ name: String, by label: String) -> [String: Double] { rates(name) { $0.labels[label] ?? "" } }

    func rates(_ name: String, by group: (MetricSample) -> String) -> [String: Double] {
        let old = Dictionary(before.samples(name).map { ($0.labels, $0.value) }) { $1 }
        var rates: [String: Double] = [:]
        for sample in after.samples(name) {
            let earlier = old[sample.labels] ?? 0
            // A counter that decreased was reset.
            let raised = isOfNewProcess || sample.value < earlier ? sample.value : sample.value - earlier
            if raised > 0 { rates[group(sample), default: 0] += raised / seconds }
        }
        return rates
    }

    /// The new observations of histograms, by a label's value.
    func histograms(_ name: String, by label: String?) -> [String: Histogram] {
        let old = isOfNewProcess ? [:] : before.histograms(name, by: label)
        let new = after.histograms(name, by: label)
        return new.reduce(into: [:]) { found, entry in
            found[entry.key] = old[entry.key].map { entry.value.since($0) } ?? entry.value
        }
    }

    func histogram(_ name: String) -> Histogram { histograms(name, by: nil)[""] ?? Histogram() }
}
