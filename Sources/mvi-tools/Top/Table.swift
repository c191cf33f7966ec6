/// The lines for a reading and the interval before it.
struct Table {
    private let now: Metrics
    /// Nil with a single reading.
    private let interval: Interval?

    init(_ now: Metrics, _ interval: Interval?) { (self.now, self.interval) = (now, interval) }

    /// - Parameter height: the maximal number of lines.
    func lines(height: Int?) -> [TableLine] {
        var above = process + [TableLine()]
        guard interval != nil else { return above + [TableLine("Rates need a second answer.", .dim)] }
        above += rates + [TableLine()] + journal + [TableLine()]
        let below = problems
        let room = height.map { max(2, $0 - above.count - below.count - 1) }
        return above + features(room: room) + [TableLine()] + below
    }

    // MARK: Gauges

    private var process: [TableLine] {
        var first = TableLine()
        if let interval, let cpu = interval.rate(MetricNames.cpu) {
            first.add(name("CPU") + "\(Figures.number(cpu * 100)) %".right(9))
        } else {
            first.add(name("CPU") + "-".right(9))
        }
        first.add("   " + name("memory") + Figures.bytes(now.value(MetricNames.memory)).right(9))
        let files = Figures.gauge(now.value(MetricNames.files))
        let most = now.value(MetricNames.mostFiles)
        let share = most.flatMap { most in now.value(MetricNames.files).map { $0 / most } } ?? 0
        first.add("   " + name("files"))
        first.add(files.right(9), share > 0.9 ? .bad : share > 0.7 ? .warning : .plain)
        first.add(" of \(Figures.gauge(most))", .dim)
        first.add("   threads \(Figures.gauge(now.value(MetricNames.threads)))")
        return [
            first,
            gauges([
                ("connections", MetricNames.connections), ("requests", MetricNames.requests),
                ("work", MetricNames.work),
            ]),
            gauges([
                ("streams", MetricNames.streams), ("sessions", MetricNames.sessions), ("stores", MetricNames.stores),
            ]),
        ]
    }

    private func gauges(_ all: [(title: String, metric: String)]) -> TableLine {
        TableLine(all.map { name($0.title) + Figures.gauge(now.value($0.metric)).right(9) }.joined(separator: "   "))
    }

    private func name(_ title: String) -> String { title.left(12) }

    // MARK: Rates

    private var rates: [TableLine] {
        [
            TableLine(name("a second") + "all".right(9) + "   of which", .head),
            rate("intents", MetricNames.intents, by: "outcome", bad: ["failed"]),
            rate("turns", MetricNames.turns, by: "kind"),
            answers,
            rate("events", MetricNames.events, by: "type"),
            rate("streams +", MetricNames.streamsOpened, by: nil),
            rate("streams -", MetricNames.streamsEnded, by: "reason", bad: ["slow", "limit"]),
        ]
    }

    private func rate(_ title: String, _ metric: String, by label: String?, bad: Set<String> = []) -> TableLine {
        guard let interval else { return TableLine() }
        var line = TableLine(name(title) + Figures.rate(interval.rate(metric)).right(9))
        guard let label else { return line }
        append(interval.rates(metric, by: label), to: &line, bad: bad)
        return line
    }

    /// The most frequent first.
    private func append(_ rates: [String: Double], to line: inout TableLine, bad: Set<String>) {
        for (name, rate) in rates.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            line.add("   \(name) ", .dim)
            line.add(Figures.rate(rate), bad.contains(name) ? .bad : .plain)
        }
    }

    /// By the status's first digit.
    private var answers: TableLine {
        guard let interval else { return TableLine() }
        var line = TableLine(name("answers") + Figures.rate(interval.rate(MetricNames.answers)).right(9))
        let classes = interval.rates(MetricNames.answers) { "\($0.labels["status"]?.prefix(1) ?? "?")xx" }
        for (name, rate) in classes.sorted(by: { $0.key < $1.key }) {
            line.add("   \(name) ", .dim)
            line.add(Figures.rate(rate), name == "5xx" ? .bad : name == "4xx" ? .warning : .plain)
        }
        return line
    }

    // MARK: Times

    private var journal: [TableLine] {
        guard let interval else { return [] }
        let appends = interval.histogram(MetricNames.appendTime)
        let groups = interval.histogram(MetricNames.groupSize)
        let requests = interval.histogram(MetricNames.requestTime)
        let queue = interval.histogram(MetricNames.queueLength)
        var line = TableLine(name("appends") + Figures.rate(interval.rate(MetricNames.appends)).right(9))
        line.add(times(appends))
        line.add("   group ", .dim)
        line.add("\(groups.mean.map { Figures.digits($0) } ?? "-"), p99 \(Figures.count(groups.quantile(0.99)))")
        var results = interval.rates(MetricNames.appends, by: "result")
        results["committed"] = nil
        append(results, to: &line, bad: ["failed", "unknown"])
        var waiting = TableLine(name("requests") + Figures.rate(requests.count / interval.seconds).right(9))
        waiting.add(times(requests))
        waiting.add("   waiting in a queue ", .dim)
        waiting.add("p50 \(Figures.count(queue.quantile(0.5))), p99 \(Figures.count(queue.quantile(0.99)))")
        let head = name("journal") + "a second".right(9) + "p50".right(10) + "p99".right(10)
        return [TableLine(head, .head), line, waiting]
    }

    private func times(_ histogram: Histogram) -> String {
        Figures.time(histogram.quantile(0.5)).right(10) + Figures.time(histogram.quantile(0.99)).right(10)
    }

    // MARK: Features

    private struct Row {
        let feature: String
        let turns: Histogram
        let intents: Double
        let slow: Double
        let failures: Double
    }

    /// The slowest first.
    ///
    /// - Parameter room: the number of lines, including the head; nil for all.
    private func features(room: Int?) -> [TableLine] {
        guard let interval else { return [] }
        let times = interval.histograms(MetricNames.turnTime, by: "feature")
        let intents = interval.rates(MetricNames.intents, by: "feature")
        let slow = interval.rates(MetricNames.slowTurns, by: "feature")
        let failures = interval.rates(MetricNames.failures, by: "feature")
        let names = Set(times.keys).union(intents.keys).union(failures.keys)
        let rows = names.map { name in
            Row(
                feature: name, turns: times[name] ?? Histogram(), intents: intents[name] ?? 0, slow: slow[name] ?? 0,
                failures: failures[name] ?? 0)
        }.sorted { left, right in
            let (slower, other) = (left.turns.quantile(0.99)?.value ?? -1, right.turns.quantile(0.99)?.value ?? -1)
            return slower == other ? left.feature < right.feature : slower > other
        }
        let shown = room.map { rows.count < $0 ? rows[...] : rows.prefix(max(1, $0 - 2)) } ?? rows[...]
        var lines = [
            TableLine(
                "feature".left(28) + "turns/s".right(10) + "p50".right(10) + "p99".right(10) + "intents/s".right(11)
                    + "slow/s".right(9) + "failures/s".right(12), .head)
        ]
        lines += shown.map { row in
            var line = TableLine(row.feature.left(28))
            line.add(Figures.rate(row.turns.count / interval.seconds).right(10))
            line.add(Figures.time(row.turns.quantile(0.5)).right(10))
            line.add(Figures.time(row.turns.quantile(0.99)).right(10))
            line.add(Figures.rate(row.intents).right(11))
            line.add(Figures.rate(row.slow).right(9), row.slow > 0 ? .warning : .plain)
            line.add(Figures.rate(row.failures).right(12), row.failures > 0 ? .bad : .plain)
            return line
        }
        if shown.count < rows.count { lines.append(TableLine("and \(rows.count - shown.count) more", .dim)) }
        if rows.isEmpty { lines.append(TableLine("none", .dim)) }
        return lines
    }

    // MARK: Problems

    /// The problems, the most frequent first.
    private var problems: [TableLine] {
        guard let interval else { return [] }
        var found: [(text: String, rate: Double, style: TableLine.Style)] = []
        let refused = interval.rates(MetricNames.answers) { sample in
            guard let problem = sample.labels["problem"], problem != "none" else { return "" }
            return "\(sample.labels["status"] ?? "?") \(problem)"
        }
        for (text, rate) in refused where !text.isEmpty {
            found.append((text, rate, text.hasPrefix("5") ? .bad : .warning))
        }
        for (stage, rate) in interval.rates(MetricNames.failures, by: "stage") {
            found.append(("features threw in \(stage)", rate, .bad))
        }
        for (limit, rate) in interval.rates(MetricNames.limits, by: "limit") {
            found.append(("limit reached: \(limit)", rate, .warning))
        }
        for (reason, rate) in interval.rates(MetricNames.streamResets, by: "reason") {
            found.append(("streams reset: \(reason)", rate, .warning))
        }
        if let rate = interval.rate(MetricNames.labelsDropped), rate > 0 {
            found.append(("labels dropped", rate, .warning))
        }
        if let rate = interval.rate(MetricNames.conflations), rate > 0 {
            found.append(("states skipped for slow streams", rate, .dim))
        }
        let sorted = found.sorted { ($1.rate, $0.text) < ($0.rate, $1.text) }
        let longest = 8
        var lines = [TableLine("problems".left(44) + "a second".right(9), .head)]
        lines += sorted.prefix(longest).map { TableLine($0.text.left(44) + Figures.rate($0.rate).right(9), $0.style) }
        if sorted.count > longest { lines.append(TableLine("and \(sorted.count - longest) more", .dim)) }
        if sorted.isEmpty { lines.append(TableLine("none", .good)) }
        return lines
    }
}
