import CoreMetrics
import Synchronization

/// One combination of a metric's labels, with its value.
protocol Series: AnyObject, Sendable {
    /// Appends its lines.
    func append(to text: inout String, _ name: String, _ labels: LabelSet)
}

/// A count.
final class CounterSeries: Series, CounterHandler {
    private let count = Atomic<Int64>(0)

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// Does nothing: a decreasing counter would look like a restart.
    func reset() {}

    func append(to text: inout String, _ name: String, _ labels: LabelSet) {
        text += "\(name)\(labels.braced) \(count.load(ordering: .relaxed))\n"
    }
}

/// A sum that grows by fractions.
final class SumSeries: Series, FloatingPointCounterHandler {
    private let sum = AtomicDouble()

    func increment(by amount: Double) { sum.add(amount) }

    /// Does nothing, like a counter's.
    func reset() {}

    func append(to text: inout String, _ name: String, _ labels: LabelSet) {
        text += "\(name)\(labels.braced) \(MetricName.number(sum.value))\n"
    }
}

/// A value that rises and falls; for a recorder without aggregation, the last one.
final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    private let value = AtomicDouble()

    func set(_ value: Int64) { self.value.set(Double(value)) }
    func set(_ value: Double) { self.value.set(value) }
    func increment(by amount: Double) { value.add(amount) }
    func decrement(by amount: Double) { value.add(-amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    func append(to text: inout String, _ name: String, _ labels: LabelSet) {
        text += "\(name)\(labels.braced) \(MetricName.number(value.value))\n"
    }
}

/// The number of values up to each bound, in seconds for a timer.
///
/// A reader may see a value's bucket before its sum; the count is always that of the buckets.
final class HistogramSeries: Series, TimerHandler, RecorderHandler {
    private final class Bucket: Sendable {
        let count = Atomic<UInt64>(0)
    }

    private let bounds: [Double]
    /// One more than the bounds: the last bucket counts all greater values.
    private let buckets: [Bucket]
    private let sum = AtomicDouble()

    init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Bucket() }
    }

    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

    func record(_ value: Double) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        buckets[index].count.wrappingAdd(1, ordering: .relaxed)
        sum.add(value)
    }

    func append(to text: inout String, _ name: String, _ labels: LabelSet) {
        var count: UInt64 = 0
        for (index, bucket) in buckets.enumerated() {
            count += bucket.count.load(ordering: .relaxed)
            let bound = index < bounds.count ? MetricName.number(bounds[index]) : "+Inf"
            text += "\(name)_bucket\(labels.with("le", bound)) \(count)\n"
        }
        text += "\(name)_sum\(labels.braced) \(MetricName.number(sum.value))\n"
        text += "\(name)_count\(labels.braced) \(count)\n"
    }
}

/// A floating-point number that several threads add to.
final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let (done, now) = bits.weakCompareExchange(
                expected: old, desired: (Double(bitPattern: old) + amount).bitPattern, ordering: .relaxed)
            if done { return }
            old = now
        }
    }
}
