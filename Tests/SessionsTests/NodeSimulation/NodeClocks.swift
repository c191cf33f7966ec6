import Locking
import MVI
import MVITesting
import Sessions

/// A node's clocks, which the simulation moves: each runs at a speed of its own, and none while the node is stopped.
final class NodeClocks: Sendable {
    private struct State {
        var monotonic: Duration
        var wall: Duration
        /// The time that the clocks have not shown since the node was stopped.
        var missed: Duration = .zero
    }

    /// The clock on which the node's tasks sleep.
    let sleeping = ManualClock()
    /// In millionths more than the true speed.
    private let drift: Int
    private let state: Lock<State>

    init(monotonic: Duration, wall: Duration, drift: Int) {
        self.drift = drift
        state = Lock(State(monotonic: monotonic, wall: wall))
    }

    private func shown(_ time: Duration) -> Duration { time + time / 1_000_000 * drift }

    /// Time passes and the node runs: what sleeps until then wakes.
    func advance(by time: Duration) {
        let shown = shown(time)
        state.withLock {
            $0.monotonic += shown
            $0.wall += time
        }
        sleeping.advance(by: shown)
    }

    /// Time passes and the node is stopped.
    func miss(_ time: Duration) { state.withLock { $0.missed += time } }

    /// The node goes on. Its clocks show the time that it was stopped, or, as in a machine that was stopped as a whole, not.
    func goOn(isShown: Bool) {
        let missed = state.withLock { state in
            defer { state.missed = .zero }
            return state.missed
        }
        if isShown { advance(by: missed) }
    }

    /// The wall clock is set.
    func setWall(by time: Duration) { state.withLock { $0.wall += time } }

    var source: TimeSource {
        TimeSource(
            monotonic: { [self] in state.withLock { $0.monotonic } },
            sinceEpoch: { [self] in state.withLock { $0.wall } })
    }
}

/// A clock that rounds what its users want to sleep: a random time that they chose would make each run another one.
struct CoarseClock: Clock, Sendable {
    let clock: ManualClock

    var now: ManualClock.Instant { clock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        let time = now.duration(to: deadline)
        let steps: [Duration] = [.milliseconds(250), .milliseconds(2_600)]
        // Only the random waits after conflicts are no whole quarters of a second.
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
