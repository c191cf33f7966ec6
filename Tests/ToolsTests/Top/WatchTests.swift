import Testing

@testable import mvi_tools

@Suite struct `The table` {
    private static let address = "http://127.0.0.1:8081"

    private func watch(_ texts: [String]) -> Watch {
        var watch = Watch(address: Self.address)
        for (index, text) in texts.enumerated() { watch.took(Answers.metrics(text, after: Double(index) * 10)) }
        return watch
    }

    private func text(_ watch: Watch, height: Int? = nil) -> String {
        watch.lines(height: height).map(\.text).joined(separator: "\n")
    }

    @Test func `two answers give all figures`() {
        #expect(text(watch([Answers.first, Answers.second])) == Golden.table)
    }

    @Test func `one answer gives the current values`() {
        let text = text(watch([Answers.first]))
        #expect(text.contains("Rates need a second answer."))
        #expect(text.contains("sessions       10,050"))
    }

    @Test func `a server that does not answer is reported, with the last figures`() {
        var watch = watch([Answers.first, Answers.second])
        watch.failed("connection refused", time: Answers.start + 25)
        let lines = watch.lines()
        #expect(lines[1].text == "No answer: connection refused. The values below are 00:00:15 old.")
        #expect(!watch.isAnswering && lines.count > 10)
        watch.took(Answers.metrics(Answers.second, after: 30))
        #expect(!text(watch).contains("No answer"))
    }

    @Test func `a server that never answered is reported`() {
        var watch = Watch(address: Self.address)
        watch.failed("connection refused", time: Answers.start)
        #expect(text(watch) == "mvi-server at \(Self.address)\nNo answer: connection refused.")
    }

    @Test func `another program's answer is reported`() {
        #expect(text(watch(["go_goroutines 8\n"])).contains("no metrics of an mvi-server"))
    }

    @Test func `a restart of the server is reported, and no rate is negative`() {
        let restarted = Answers.first.replacing(
            "process_start_time_seconds 1790000000", with: "process_start_time_seconds \(Answers.start + 5)")
        let text = text(watch([Answers.second, restarted]))
        #expect(text.contains("   restarted\n"))
        #expect(!text.contains(" -1") && !text.contains("-0"))
        // 1,017 intents since it began 5 s ago.
        #expect(text.contains("intents           203"))
    }

    @Test func `a server that is not ready is reported`() {
        let text = text(watch([Answers.first.replacing("mvi_ready 1", with: "mvi_ready 0")]))
        #expect(text.contains("NOT READY"))
    }

    @Test func `a low terminal shows the slowest features and counts the others`() {
        let features = (1...40).map { number in
            """
            mvi_turn_duration_seconds_bucket{feature="f\(number)",le="\(Double(number) / 1_000)"} 5
            mvi_turn_duration_seconds_bucket{feature="f\(number)",le="+Inf"} 5
            mvi_turn_duration_seconds_count{feature="f\(number)"} 5
            """
        }.joined(separator: "\n")
        let lines = watch([Answers.first, Answers.second + features]).lines(height: 30)
        #expect(lines.count <= 30)
        #expect(lines.contains { $0.text.hasPrefix("f40 ") } && !lines.contains { $0.text.hasPrefix("f1 ") })
        #expect(lines.contains { $0.text.hasPrefix("and ") && $0.text.hasSuffix(" more") })
    }

    @Test func `a line is cut at the terminal's width, and so are its styles`() {
        let line = TableLine("abc", .bad).adding("def")
        #expect(line.terminal(width: 80, hasColours: true) == "\u{1B}[1;31mabc\u{1B}[0mdef")
        #expect(line.terminal(width: 2, hasColours: true) == "\u{1B}[1;31mab\u{1B}[0m")
        #expect(line.terminal(width: 4, hasColours: false) == "abcd")
    }

    @Test func `a server's text cannot control the terminal`() {
        let evil = Answers.second + "mvi_turn_duration_seconds_count{feature=\"\u{1B}[2Jx\\n\"} 1000\n"
        let shown = watch([Answers.first, evil]).lines().map { $0.terminal(width: 200, hasColours: false) }
        #expect(shown.contains { $0.hasPrefix("?[2Jx?") })
        #expect(!shown.joined().unicodeScalars.contains { $0.value < 0x20 })
    }
}
