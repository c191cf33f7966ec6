import Metrics
import PrometheusMetrics
import Testing

@Suite("Metrics in Prometheus' text")
struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry(seriesPerFamily: 3)

    @Test("A counter is written with its help, its type and its labels in order")
    func counter() {
        registry.describe("answers_total", help: "Answers, by status\nand \\ problem.")
        func counter(_ label: String, _ status: String, _ problem: String) -> Counter {
            Counter(label: label, dimensions: [("status", status), ("problem", problem)], factory: registry)
        }
        counter("answers", "200", "a\"b\\c\nd").increment(by: 3)
        counter("answers_total", "404", "-").increment()
        #expect(
            registry.text == #"""
                # HELP answers_total Answers, by status\nand \\ problem.
                # TYPE answers_total counter
                answers_total{problem="-",status="404"} 1
                answers_total{problem="a\"b\\c\nd",status="200"} 3

                """#)
    }

    @Test("A metric that is made twice is one series and keeps its value")
    func sameSeries() {
        Counter(label: "turns", factory: registry).increment(by: 2)
        let again = Counter(label: "turns", factory: registry)
        again.increment()
        again.reset()
        #expect(registry.text == "# TYPE turns_total counter\nturns_total 3\n")
    }

    @Test("A timer is a histogram in seconds whose buckets add up")
    func timer() {
        registry.describe("append_seconds", help: "Time.", buckets: [0.001, 0.01])
        let timer = Timer(label: "append", factory: registry)
        timer.recordNanoseconds(1_000_000)
        timer.recordNanoseconds(1_000_001)
        timer.recordNanoseconds(2_000_000_000)
        #expect(
            registry.text == """
                # HELP append_seconds Time.
                # TYPE append_seconds histogram
                append_seconds_bucket{le="0.001"} 1
                append_seconds_bucket{le="0.01"} 2
                append_seconds_bucket{le="+Inf"} 3
                append_seconds_sum 2.002000001
                append_seconds_count 3

                """)
    }

    @Test("A recorder that aggregates is a histogram; another recorder and a meter are gauges")
    func recordersAndMeters() {
        registry.describe("size", help: "Sizes.", buckets: [2])
        Recorder(label: "size", dimensions: [("of", "group")], aggregate: true, factory: registry).record(2)
        Gauge(label: "last", factory: registry).record(1.5)
        let meter = Meter(label: "open.streams", factory: registry)
        meter.set(5)
        meter.increment(by: 1)
        meter.decrement(by: 3)
        let text = registry.text
        #expect(text.contains("size_bucket{of=\"group\",le=\"2\"} 1\nsize_bucket{of=\"group\",le=\"+Inf\"} 1\n"))
        #expect(text.contains("# TYPE last gauge\nlast 1.5\n"))
        #expect(text.contains("# TYPE open_streams gauge\nopen_streams 3\n"))
    }

    @Test("Sums of fractions, infinities and NaN have the format of Prometheus")
    func numbers() {
        FloatingPointCounter(label: "cpu_seconds", factory: registry).increment(by: 0.25)
        for (name, value) in [("a", Double.infinity), ("b", -.infinity), ("c", .nan), ("d", 1e300)] {
            Gauge(label: name, factory: registry).record(value)
        }
        let text = registry.text
        for line in ["a +Inf\n", "b -Inf\n", "c NaN\n", "d 1e+300\n"] { #expect(text.contains(line)) }
    }

    @Test("A family has a limit of series; one more is counted and not shown")
    func bounded() {
        for index in 0..<5 { Counter(label: "labels", dimensions: [("n", "\(index)")], factory: registry).increment() }
        let text = registry.text
        #expect(text.contains("labels_total{n=\"2\"} 1"))
        #expect(!text.contains("n=\"3\""))
        #expect(text.contains("metrics_dropped_series_total 2\n"))
    }

    @Test("A name that is used with another kind is not written")
    func otherKind() {
        Meter(label: "x_total", factory: registry).set(1)
        Counter(label: "x", factory: registry).increment(by: 7)
        #expect(registry.text.hasPrefix("# TYPE x_total gauge\nx_total 1\n"))
        #expect(registry.text.contains("metrics_dropped_series_total 1\n"))
    }

    @Test("Destroyed and unused metrics are not written")
    func destroyed() {
        registry.describe("gone_total", help: "Gone.")
        let counter = Counter(label: "gone", factory: registry)
        counter.increment()
        counter.destroy()
        #expect(registry.text.isEmpty)
    }

    @Test("Meters are set when the text is requested")
    func scrape() {
        let meter = Meter(label: "sessions", factory: registry)
        registry.onScrape { meter.set(42) }
        #expect(registry.text == "# TYPE sessions gauge\nsessions 42\n")
    }

    @Test("Counts of several threads at once are whole")
    func threads() async {
        let counter = Counter(label: "n", factory: registry)
        let timer = Timer(label: "t", factory: registry)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<10_000 {
                        counter.increment()
                        timer.recordNanoseconds(1_000_000_000)
                    }
                }
            }
        }
        #expect(registry.text.contains("n_total 40000\n"))
        #expect(registry.text.contains("t_seconds_sum 40000\nt_seconds_count 40000\n"))
    }
}
