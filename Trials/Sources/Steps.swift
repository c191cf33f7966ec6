import MVI

/// Takes a step each 100 ms up to the requested number, and records the process of each step.
struct Steps: Feature {
    /// Consecutive steps of one process.
    struct Run: Codable, Equatable, Sendable {
        var process: String
        var first: Int
        var last: Int
    }

    struct State: Codable, Equatable, Sendable {
        var wanted = 0
        var taken = 0
        var runs: [Run] = []
    }

    enum Intent: Codable, Equatable, Sendable {
        /// Requests so many more steps.
        case take(steps: Int)
    }

    enum Message: Codable, Equatable, Sendable {
        case wanted(Int)
        case took(process: String)
    }

    enum Label: Codable, Equatable, Sendable {
        case took(step: Int, process: String)
    }

    static let summary = "Long work in steps, to test which process does it."
    static let examples: [Intent] = [.take(steps: 10)]
    static let labelExamples: [Label] = [.took(step: 1, process: "a.1")]

    let initialState = State()
    /// The name of this process.
    let process: String

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone; the state has its progress.
        if turn.state.taken < turn.state.wanted { work(&turn) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .take(let steps):
            turn.dispatch(.wanted(max(0, min(steps, 100_000))))
            work(&turn)
        }
    }

    private func work(_ turn: inout Turn<Self>) {
        turn.launch(id: "steps", policy: .keepPrevious) { [process] work in
            while !Task.isCancelled, work.state.taken < work.state.wanted {
                await work.turn { turn in
                    turn.dispatch(.took(process: process))
                    turn.publish(.took(step: turn.state.taken, process: process))
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .wanted(let steps): state.wanted += steps
        case .took(let process):
            state.taken += 1
            if state.runs.last?.process == process {
                state.runs[state.runs.count - 1].last = state.taken
            } else {
                state.runs.append(Run(process: process, first: state.taken, last: state.taken))
            }
        }
    }
}
