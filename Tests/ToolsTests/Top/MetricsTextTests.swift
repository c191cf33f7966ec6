import Testing

@testable import mvi_tools

@Suite struct `Prometheus' text` {
    @Test func `a value has its name, its labels and its number`() {
        #expect(
            MetricsText.read("a_total{x=\"1\", y = \"b c\",} 2.5 1395066363000\nb 7\nc{} -3e2\n") == [
                MetricSample("a_total", labels: ["x": "1", "y": "b c"], 2.5), MetricSample("b", 7),
                MetricSample("c", -300),
            ])
    }

    @Test func `escapes in a label are decoded`() {
        let read = MetricsText.read(#"a{path="C:\\x\"y\nz"} 1"#)
        #expect(read.first?.labels == ["path": "C:\\x\"y\nz"])
    }

    @Test func `infinity and NaN are numbers`() {
        let read = MetricsText.read("a{le=\"+Inf\"} +Inf\nb -Inf\nc NaN\n")
        #expect(read.map(\.value).prefix(2) == [.infinity, -.infinity])
        #expect(read.last?.value.isNaN == true)
    }

    @Test(arguments: [
        "", "# HELP a text", "# EOF", "a", "a{", "a{b} 1", "a{b=1} 1", "a{b=\"c} 1", "a{b=\"c\"", "a x", "1a 2", "{} 1",
        "a{b=\"\\", "é 1",
    ])
    func `a line without a value is ignored, and the following lines are read`(line: String) {
        #expect(MetricsText.read("\(line)\nb 1\r\n") == [MetricSample("b", 1)])
    }

    @Test func `text after a value is ignored`() {
        let read = MetricsText.read("a_bucket{le=\"1\"} 3 # {trace_id=\"x\"} 0.5\n")
        #expect(read == [MetricSample("a_bucket", labels: ["le": "1"], 3)])
    }
}
