import CoreMetrics
import MicroHTTP

/// Counts answers.
final class RequestMetrics: Sendable {
    /// Answers without a problem, by the index of their status in `statuses`; the last is for all others.
    private let plain: [any CounterHandler]
    /// Answers with a problem, by its number; see `AnswerMark`.
    private let problems: [any CounterHandler]
    private let limits: LimitMetrics
    /// By the route's number; the first is for requests without a route.
    private let durations: [any TimerHandler]

    init(_ factory: any MetricsFactory, _ limits: LimitMetrics, _ router: Router) {
        self.limits = limits
        func answers(_ status: String, _ problem: String) -> any CounterHandler {
            factory.makeCounter(label: "mvi_answers_total", dimensions: [("status", status), ("problem", problem)])
        }
        plain = (Self.statuses.map { "\($0)" } + ["other"]).map { answers($0, "none") }
        problems = ProblemType.all.map { answers("\($0.status)", $0.name) }
        durations = (["none"] + router.routes.prefix(254).map(\.label)).map {
            factory.makeTimer(label: "mvi_request_duration_seconds", dimensions: [("route", $0)])
        }
    }

    private static let statuses = [202, 200, 204, 201, 304, 303]

    /// The index in `statuses`, or its count. Written out because hashing the status would dominate the cost.
    private static func place(of status: Int) -> Int {
        switch status {
        case 202: 0
        case 200: 1
        case 204: 2
        case 201: 3
        case 304: 4
        case 303: 5
        default: 6
        }
    }

    func note(_ answer: RequestAnswer) {
        let mark = AnswerMark(answer.mark)
        if let problem = mark.problemIndex {
            problems[problem].increment(by: 1)
            limits.reached(problem)
        } else {
            plain[Self.place(of: answer.status)].increment(by: 1)
        }
        guard !answer.isStream else { return }
        let route = Int(mark.route)
        durations[route < durations.count ? route : 0].recordNanoseconds(Int64(clamping: answer.nanoseconds))
    }
}

/// Counts reached limits by problem.
struct LimitMetrics: Sendable {
    /// By the problem's index in `ProblemType.all`; nil for problems that report no limit.
    private let counters: [Counter?]

    init(_ factory: any MetricsFactory) {
        counters = ProblemType.all.map { type in
            guard type.isLimit else { return nil }
            return Counter(label: "mvi_limits_reached_total", dimensions: [("limit", type.name)], factory: factory)
        }
    }

    /// Counts a limit by the index of an answer's problem.
    func reached(_ index: Int) { counters[index]?.increment() }

    /// Counts a limit without an answer: a postponed stream.
    func reached(_ type: ProblemType) {
        if let index = ProblemType.numbers[type.name] { reached(index) }
    }
}

/// An answer's route and problem as numbers, for the metrics.
struct AnswerMark {
    /// The route's number in the router; 0 for none.
    var route: UInt8
    /// The problem's index in `ProblemType.all` plus one; 0 for none.
    var problem: UInt8

    init(route: UInt8, problem: UInt8) { (self.route, self.problem) = (route, problem) }

    init(_ bits: UInt16) { (route, problem) = (UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)) }

    var bits: UInt16 { UInt16(problem) << 8 | UInt16(route) }

    var problemIndex: Int? { problem == 0 ? nil : Int(problem) - 1 }
}

extension Response {
    /// Sets the answer's problem.
    mutating func mark(problem name: String?) {
        guard let index = name.flatMap({ ProblemType.numbers[$0] }) else { return }
        mark = AnswerMark(route: AnswerMark(mark).route, problem: UInt8(index + 1)).bits
    }
}

extension Route {
    /// The route's name in metrics: the method and path for a custom endpoint.
    fileprivate var label: String { name == "custom" ? "\(method.rawValue) \(path)" : name }
}
