import Locking
import MVI
import MVITesting
import Sessions

/// A node's clocks, which the simulation moves: each has its own speed and stands while the node is stopped.
final class NodeClocks: Sendable {
    private struct State {
        var monotonic: Duration
        var wall: Duration
        /// The time that the clocks missed while the node was stopped.
        var missed: Duration = .zero
    }

    /// The clock for the sleeps of the node's tasks.
    let sleeping = ManualClock()
    /// The deviation from the true speed in millionths.
    private let drift: Int
    private let state: Lock<State>

    init(monotonic: Duration, wall: Duration, drift: Int) {
        self.drift = drift
        state = Lock(State(monotonic: monotonic, wall: wall))
    }

    private func shown(_ time: Duration) -> Duration { time + time / 1_000_000 * drift }

    /// Advances the clocks of a running node and wakes sleepers that are due.
    func advance(by time: Duration) {
        let shown = shown(time)
        state.withLock {
            $0.monotonic += shown
            $0.wall += time
        }
        sleeping.advance(by: shown)
    }

    /// Records the time of a stopped node.
    func miss(_ time: Duration) { state.withLock { $0.missed += time } }

    /// Resumes the node. Its clocks show the missed time, or do not, as on a machine that was stopped as a whole.
    func goOn(isShown: Bool) {
        let missed = state.withLock { state in
            defer { state.missed = .zero }
            return state.missed
        }
        if isShown { advance(by: missed) }
    }

    /// Sets the wall clock.
    func setWall(by time: Duration) { state.withLock { $0.wall += time } }

    var source: TimeSource {
        TimeSource(
            monotonic: { [self] in state.withLock { $0.monotonic } },
            sinceEpoch: { [self] in state.withLock { $0.wall } })
    }
}

/// A clock that rounds sleeps: with random times each run of a seed would differ.
struct CoarseClock: Clock, Sendable {
    let clock: ManualClock

    var now: ManualClock.Instant { clock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        let time = now.duration(to: deadline)
        let steps: [Duration] = [.milliseconds(250), .milliseconds(2_600)]
        // Only the random delays after conflicts are not multiples of a quarter of a second.
        let isWhole = time.attoseconds % Duration.milliseconds(250).attoseconds == 0
        let rounded = isWhole ? time : steps.first { time <= $0 } ?? time
        try await clock.sleep(until: now.advanced(by: rounded), tolerance: nil)
    }
}

extension Duration {
    fileprivate var attoseconds: Int128 {
        Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
    }
}
