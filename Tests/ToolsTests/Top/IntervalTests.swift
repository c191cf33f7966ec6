import Testing

@testable import mvi_tools

@Suite struct `What happened between two answers` {
    private func interval(_ before: String, _ after: String, seconds: Double = 10) throws -> Interval {
        try #require(Interval(Answers.metrics(before), Answers.metrics(after, after: seconds)))
    }

    @Test func `a rate is the increase of a counter per second`() throws {
        let interval = try interval("a{x=\"1\"} 10\na{x=\"2\"} 5\n", "a{x=\"1\"} 30\na{x=\"2\"} 5\na{x=\"3\"} 50\n")
        #expect(interval.rate("a") == 7)
        #expect(interval.rates("a", by: "x") == ["1": 2, "3": 5])
        #expect(interval.rate("b") == nil)
    }

    @Test func `a counter that decreased was reset`() throws {
        #expect(try interval("a 100\n", "a 30\n").rate("a") == 3)
    }

    @Test func `a new process counts from its start`() throws {
        let start = Answers.start
        let interval = try interval(
            "a 100\nprocess_start_time_seconds 5\n", "a 120\nprocess_start_time_seconds \(start + 6)\n")
        #expect(interval.isOfNewProcess)
        #expect(interval.seconds == 4)
        #expect(interval.rate("a") == 30)
    }

    @Test func `a start time with another rounding is the same process`() throws {
        let interval = try interval("process_start_time_seconds 5.01\n", "process_start_time_seconds 5\n")
        #expect(!interval.isOfNewProcess)
    }

    @Test func `two answers of the same time are not an interval`() {
        #expect(Interval(Answers.metrics("a 1"), Answers.metrics("a 2")) == nil)
    }

    @Test func `a quantile is interpolated in its bucket`() throws {
        let interval = try interval(
            "t_bucket{le=\"1\"} 5\nt_bucket{le=\"2\"} 5\nt_bucket{le=\"+Inf\"} 5\nt_count 5\nt_sum 1\n",
            "t_bucket{le=\"1\"} 55\nt_bucket{le=\"2\"} 95\nt_bucket{le=\"+Inf\"} 105\nt_count 105\nt_sum 101\n")
        let histogram = interval.histogram("t")
        #expect(histogram.count == 100 && histogram.mean == 1)
        #expect(histogram.quantile(0.25) == .init(value: 0.5, isBeyond: false))
        #expect(histogram.quantile(0.5) == .init(value: 1, isBeyond: false))
        #expect(histogram.quantile(0.7) == .init(value: 1.5, isBeyond: false))
        #expect(histogram.quantile(0.99) == .init(value: 2, isBeyond: true))
        #expect(Histogram().quantile(0.5) == nil)
    }

    @Test func `a histogram that was reset counts completely`() throws {
        let histogram = try interval(
            "t_bucket{le=\"1\"} 50\nt_bucket{le=\"+Inf\"} 50\nt_count 50\n",
            "t_bucket{le=\"1\"} 4\nt_bucket{le=\"+Inf\"} 4\nt_count 4\n"
        ).histogram("t")
        #expect(histogram.count == 4)
    }

    @Test func `histograms of several series are added, or separated by a label`() throws {
        let text =
            "t_bucket{f=\"a\",le=\"1\"} 1\nt_bucket{f=\"b\",le=\"1\"} 3\nt_count{f=\"a\"} 1\nt_count{f=\"b\"} 3\n"
        let interval = try interval("", text)
        #expect(interval.histogram("t").count == 4)
        #expect(interval.histograms("t", by: "f").mapValues(\.count) == ["a": 1, "b": 3])
    }
}
