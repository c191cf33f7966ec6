import Locking
import MVI
import MVITesting

/// The effects of chores outside their states, in one process at a time.
final class ChoreHooks: Sendable {
    /// Launched work that is running.
    struct Run {
        /// The intent whose settling it counts for; nil for none.
        let number: Int?
        /// The feature instance, and the life of its store.
        let place: String
        let life: Int
        var isCancelled = false
    }

    /// The place of an intent's work.
    struct Place: Hashable {
        let number: Int?
        let place: String
    }

    private struct State {
        var lastLife = 0
        var lastRun = 0
        var runs: [Int: Run] = [:]
        var ended: Set<Place> = []
        /// The number of times that interceptors judged an intent.
        var judged: [Int: Int] = [:]
        /// The number of times that a reminder's action was performed.
        var tries: [Int: Int] = [:]
        var clock: (any Clock<Duration>)?
    }

    private let state = Lock(State())

    /// Starts a process; all counts of earlier ones are dropped.
    func begin(on clock: (any Clock<Duration>)?) {
        state.withLock { state in
            state.runs = [:]
            state.clock = clock
        }
    }

    /// True if a process that counts is running.
    var isCounting: Bool { state.withLock { $0.clock != nil } }

    /// Starts another run of the simulation.
    func reset() { state.withLock { $0 = State() } }

    var runs: [Run] { state.withLock { $0.runs.sorted { $0.key < $1.key }.map(\.value) } }

    func judgements(of number: Int) -> Int { state.withLock { $0.judged[number] ?? 0 } }

    func tries(of number: Int) -> Int { state.withLock { $0.tries[number] ?? 0 } }

    /// Returns true if work of an intent has ended, with or without a result.
    func hasEnded(_ number: Int, in place: String) -> Bool {
        state.withLock { $0.ended.contains(Place(number: number, place: place)) }
    }

    func nextLife() -> Int {
        state.withLock { state in
            state.lastLife += 1
            return state.lastLife
        }
    }

    func judged(_ intent: ChoreIntent) {
        // An intent from another store's turn is judged each time that this turn runs.
        if case .sent = intent { return }
        state.withLock { $0.judged[intent.number, default: 0] += 1 }
    }

    func tried(_ number: Int) { state.withLock { $0.tries[number, default: 0] += 1 } }

    /// Sleeps like a service outside the features.
    func sleep(seconds: Int) async throws {
        guard let clock = state.withLock({ $0.clock }) else { return }
        try await clock.sleep(for: .seconds(seconds))
    }

    /// Runs launched work.
    func run(_ number: Int?, _ place: String, _ life: Int, _ body: () async throws -> Void) async throws {
        let run = state.withLock { state -> Int in
            state.lastRun += 1
            if state.clock != nil { state.runs[state.lastRun] = Run(number: number, place: place, life: life) }
            return state.lastRun
        }
        defer {
            state.withLock { state in
                if state.runs.removeValue(forKey: run) != nil {
                    state.ended.insert(Place(number: number, place: place))
                }
            }
        }
        try await withTaskCancellationHandler {
            try await body()
        } onCancel: {
            state.withLock { $0.runs[run]?.isCancelled = true }
        }
    }
}
