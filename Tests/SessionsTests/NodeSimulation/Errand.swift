import Locking
import MVI

/// The complete history of a store: each turn adds to it, and only `open` shrinks.
struct ErrandLog: Codable, Equatable, Sendable {
    /// A step of launched work.
    struct Step: Codable, Equatable, Sendable {
        var job: Int
        /// The step's index in its job.
        var index: Int
        /// The run of the work that took it: new for each launch.
        var run: Int
    }

    /// The numbers of the intents that ran, in order.
    var entries: [Int] = []
    var steps: [Step] = []
    /// Jobs whose work has not ended.
    var open: [Int] = []
    var ended: [Int] = []
    /// Reminders that fired.
    var reminded: [Int] = []
    /// Intents that ran on another state than their client's.
    var mistaken: [Int] = []
    /// Steps of the work for watchers, and the run of it that took the last step.
    var ticks = 0
    var ticker = 0
}

/// Counts the runs of work on all nodes.
final class WorkRuns: Sendable {
    private let last = Lock(0)

    /// The number of runs.
    var count: Int { last.withLock { $0 } }

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}

enum ErrandIntent: Codable, Sendable {
    case enter(Int)
    case say(Int)
    case work(Int)
    case remind(Int)
    /// Sent by a client that has seen so many entries.
    case match(number: Int, seen: Int)
}

enum ErrandMessage: Codable, Sendable {
    case entered(Int)
    case mistaken(Int)
    case opened(Int)
    case stepped(ErrandLog.Step)
    case ended(Int)
    case reminded(Int)
    case ticked(run: Int)
}

enum ErrandLabel: Codable, Equatable, Sendable { case said(Int) }

enum ErrandAction: Codable, Sendable { case come(Int) }

protocol ErrandState: Codable, Equatable, Sendable {
    var log: ErrandLog { get set }
}

/// A feature with work of several steps, reminders and work for watchers; all of its builds behave the same.
protocol ErrandFeature: Feature
where
    State: ErrandState, Intent == ErrandIntent, Message == ErrandMessage, Label == ErrandLabel, Action == ErrandAction
{
    var runs: WorkRuns { get }
    var hasTicks: Bool { get }
}

extension ErrandFeature {
    static var examples: [ErrandIntent] { [.enter(1), .say(1), .work(1), .remind(1), .match(number: 1, seen: 0)] }
    static var labelExamples: [ErrandLabel] { [.said(1)] }

    /// The number of steps of a job.
    private var length: Int { 3 }

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if hasTicks {
            turn.whileWatched(id: "ticks", grace: .seconds(2)) { [runs] work in
                let run = runs.next()
                while !Task.isCancelled {
                    try await work.sleep(for: .seconds(1))
                    await work.dispatch(.ticked(run: run))
                }
            }
        }
        // Continues the work of another process.
        if reason == .restored { for job in turn.state.log.open { launch(job, &turn) } }
    }

    func execute(_ intent: ErrandIntent, _ turn: inout Turn<Self>) {
        switch intent {
        case .enter(let number): turn.dispatch(.entered(number))
        case .say(let number):
            turn.dispatch(.entered(number))
            turn.publish(.said(number))
        case .work(let number):
            turn.dispatch(.entered(number))
            turn.dispatch(.opened(number))
            launch(number, &turn)
        case .remind(let number):
            turn.dispatch(.entered(number))
            turn.remind(id: "r\(number)", after: .seconds(number % 20), .come(number))
        case .match(let number, let seen):
            if turn.state.log.entries.count != seen { turn.dispatch(.mistaken(number)) }
            turn.dispatch(.entered(number))
        }
    }

    func perform(_ action: ErrandAction, _ turn: inout Turn<Self>) {
        switch action {
        case .come(let number): turn.dispatch(.reminded(number))
        }
    }

    private func launch(_ job: Int, _ turn: inout Turn<Self>) {
        turn.launch { [runs, length] work in
            let run = runs.next()
            while !Task.isCancelled {
                try await work.sleep(for: .seconds(1 + job % 4))
                let log = work.state.log
                guard log.open.contains(job) else { return }
                let index = log.steps.count { $0.job == job }
                if index < length {
                    await work.dispatch(.stepped(ErrandLog.Step(job: job, index: index, run: run)))
                } else {
                    await work.dispatch(.ended(job))
                }
            }
        }
    }

    func reduce(_ state: inout State, _ message: ErrandMessage) {
        switch message {
        case .entered(let number): state.log.entries.append(number)
        case .mistaken(let number): state.log.mistaken.append(number)
        case .opened(let job): state.log.open.append(job)
        case .stepped(let step): state.log.steps.append(step)
        case .ended(let job):
            state.log.open.removeAll { $0 == job }
            state.log.ended.append(job)
        case .reminded(let number): state.log.reminded.append(number)
        case .ticked(let run):
            state.log.ticks += 1
            state.log.ticker = run
        }
    }

    /// Longer than any run, so that an expired label counts as lost.
    func timeToLive(of label: ErrandLabel) -> Duration { .seconds(10_000_000) }
}

/// The older build.
struct Errand: ErrandFeature {
    struct State: ErrandState { var log = ErrandLog() }
    static let name = "errand"
    let runs: WorkRuns
    let hasTicks = false
    let initialState = State()
}

/// The same feature in a later build, with another stored state.
struct NewerErrand: ErrandFeature {
    struct State: ErrandState {
        /// The log under its new name.
        var history = ErrandLog()

        var log: ErrandLog {
            get { history }
            set { history = newValue }
        }
    }
    struct ViewState: Codable, Equatable, Sendable {
        var log: ErrandLog
        var build = 2
    }
    static let name = Errand.name
    static let schemaVersion = 2
    static let migrations = [Migration(from: 1, Errand.State.self) { State(history: $0.log) }]
    let runs: WorkRuns
    let hasTicks = false
    let initialState = State()

    func view(_ state: State) -> ViewState { ViewState(log: state.history) }
}

/// A feature with work for watchers, the same in all builds.
struct Gauge: ErrandFeature {
    struct State: ErrandState { var log = ErrandLog() }
    static let name = "gauge"
    let runs: WorkRuns
    let hasTicks = true
    let initialState = State()
}
