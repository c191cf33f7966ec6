import CoreMetrics
import Locking

/// A counter whose value is kept elsewhere.
final class CountCopy: Sendable {
    private let counter: Counter
    private let last = Lock(0)

    init(_ name: String, _ dimensions: [(String, String)], _ factory: any MetricsFactory) {
        counter = Counter(label: name, dimensions: dimensions, factory: factory)
    }

    func set(_ count: Int) {
        let grown = last.withLock { last in
            defer { last = max(last, count) }
            return count - last
        }
        if grown > 0 { counter.increment(by: grown) }
    }
}
