/// The state of a server whose metrics are read repeatedly.
struct Watch: Sendable {
    private let address: String
    /// The last two readings, the older one first, and the failure since then.
    private var before: Metrics?
    private var last: Metrics?
    private var failure: (reason: String, time: Double)?

    /// - Parameter address: the server's name in the first line.
    init(address: String) { self.address = address }

    /// Records a reading.
    mutating func took(_ metrics: Metrics) {
        (before, last, failure) = (last, metrics, nil)
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - reason: a short reason for people.
    ///   - time: seconds since 1970.
    mutating func failed(_ reason: String, time: Double) { failure = (reason, time) }

    /// True after two readings, so that rates are known.
    var hasRates: Bool { before != nil && last != nil }

    var isAnswering: Bool { failure == nil && last != nil }

    /// The table.
    ///
    /// - Parameter height: the maximal number of lines; features without room are counted. Nil for no limit.
    func lines(height: Int? = nil) -> [TableLine] {
        var lines = [head]
        if let failure {
            var line = TableLine("No answer: \(failure.reason).", .bad)
            if let last { line.add(" The values below are \(Figures.age(failure.time - last.time)) old.", .warning) }
            lines.append(line)
        }
        guard let last else { return lines }
        guard last.isOfServer else {
            return lines + [TableLine("The answer has no metrics of an mvi-server; is this its admin address?", .bad)]
        }
        let table = Table(last, before.flatMap { Interval($0, last) })
        return lines + table.lines(height: height.map { $0 - lines.count })
    }

    private var head: TableLine {
        var line = TableLine("mvi-server", .strong)
        guard let last else { return line.adding(" at \(address)") }
        if let version = last.samples(MetricNames.build).first?.labels["version"] { line.add(" \(version)", .strong) }
        line.add(" at \(address)   ")
        switch last.value(MetricNames.ready) {
        case nil: break
        case 0?: line.add("NOT READY", .bad)
        default: line.add("ready", .good)
        }
        if let start = last.value(MetricNames.start) { line.add("   up \(Figures.age(last.time - start))") }
        if let before, let interval = Interval(before, last), interval.isOfNewProcess {
            line.add("   restarted", .warning)
        }
        return line
    }
}
