import ArgumentParser

/// `mvi-server top`: shows a server's current activity in a terminal.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show a server's current activity.",
        discussion: """
            Reads the metrics of the server's admin address repeatedly and shows the changes: rates, times, the \
            slowest features, problems. Press q or Ctrl-C to quit. If the output is not a terminal, each table is \
            printed below the last one, without colors; NO_COLOR disables colors in a terminal.
            """)

    @Argument(help: "The server's admin address.") var url = "http://127.0.0.1:8081"

    @Option(help: "The server's admin token. Other users see it on the command line. [MVI_ADMIN_TOKEN]")
    var token: String?

    @Option(help: ArgumentHelp("Time between two readings, such as 500ms or 2s.", valueName: "time"))
    var interval = "2s"

    @Flag(help: "Print one table of one interval and exit, with 1 if the server does not answer.")
    var once = false

    func run() async throws {
        guard let pause = Self.time(interval) else {
            throw ValidationError("--interval cannot be '\(interval)': expected a time from 100ms to 3600s.")
        }
        guard let target = MetricsAddress(url) else {
            throw ValidationError("'\(url)' is not an address: expected one such as http://127.0.0.1:8081.")
        }
        let client = MetricsClient(
            target, token: token ?? Tools.variable("MVI_ADMIN_TOKEN"), patience: max(pause, .seconds(2)))
        try await Tools.reporting {
            if once {
                try await TopOutput.once(client, pause)
            } else if Terminal.isOutput {
                try await TopScreen(client, pause).run()
            } else {
                try await TopOutput.run(client, pause)
            }
        }
    }

    /// A time in seconds or milliseconds, in the format of the server's settings; nil if it is malformed or out of
    /// bounds.
    static func time(_ text: String) -> Duration? {
        for (unit, one) in [("ms", Duration.milliseconds(1)), ("s", .seconds(1))] where text.hasSuffix(unit) {
            guard let count = Int(text.dropLast(unit.count)), 0...3_600_000 ~= count else { return nil }
            let time = one * count
            return .milliseconds(100) ... .seconds(3_600) ~= time ? time : nil
        }
        return nil
    }
}

/// Prints tables as plain text, for files and other programs.
enum TopOutput {
    /// Prints one table of one interval.
    static func once(_ client: MetricsClient, _ pause: Duration) async throws {
        var watch = Watch(address: client.address.shown)
        for isSecond in [false, true] {
            if isSecond { try await Task.sleep(for: pause) }
            do throws(MetricsFailure) { watch.took(try await client.read()) } catch {
                throw ToolFailure(1, "\(client.address.shown) did not answer: \(error.reason).")
            }
        }
        _ = try put(watch.lines())
    }

    /// Prints tables until the reader closes the output.
    static func run(_ client: MetricsClient, _ pause: Duration) async throws {
        var watch = Watch(address: client.address.shown)
        while true {
            await client.ask(&watch)
            guard try put(watch.lines() + [TableLine()]) else { return }
            try await Task.sleep(for: pause)
        }
    }

    private static func put(_ lines: [TableLine]) throws -> Bool {
        try Tools.put(Array(lines.map { $0.text + "\n" }.joined().utf8))
    }
}
