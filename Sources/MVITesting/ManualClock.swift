import Locking
import MVI

/// A clock that advances only when a test moves it.
///
/// Sleepers wake in the order of their deadlines, then of their calls. A canceled sleeper throws `CancellationError` at
/// once and is no longer counted.
public final class ManualClock: Clock, Sendable {
    /// A time of this clock, as the distance from its start.
    public struct Instant: InstantProtocol {
        /// The duration since the clock's start.
        public let offset: Duration

        /// Creates an instant.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// Returns the instant plus a duration.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the duration from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Returns true if `left` is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: UInt64
        let deadline: Instant
        /// True for a sleeper that only limits the time of other work.
        let isPatience: Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var lastID: UInt64 = 0
        /// Sorted by deadline, then by arrival.
        var sleepers: [Sleeper] = []

        /// Advances to the earliest deadline up to `end`, and removes and returns its sleepers.
        mutating func wakeNext(until end: Instant?) -> [Sleeper] {
            guard let deadline = sleepers.first?.deadline, end.map({ deadline <= $0 }) ?? true else { return [] }
            now = max(now, deadline)
            let woken = Array(sleepers.prefix { $0.deadline == deadline })
            sleepers.removeFirst(woken.count)
            return woken
        }
    }

    private let state = Lock(State())
    private let signal = Signal()

    /// Creates a clock at its start.
    public init() {}

    /// The time that the test has set.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero, since each instant is distinct.
    public var minimumResolution: Duration { .zero }

    /// The number of sleepers.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The number of sleepers, without those that only limit the time of other work.
    var waiterCount: Int { state.withLock { state in state.sleepers.count { !$0.isPatience } } }

    /// Returns when the test has advanced the clock to `deadline`.
    ///
    /// - Throws: `CancellationError` if the calling task is canceled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let decided = state.withLock { state -> Result<Void, any Error>? in
                    // Read under the lock. `onCancel` runs after the flag is set, so one of the two sees the other.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    let index = state.sleepers.firstIndex { deadline < $0.deadline } ?? state.sleepers.endIndex
                    state.sleepers.insert(
                        Sleeper(
                            id: id, deadline: deadline, isPatience: Patience.isPatience, continuation: continuation),
                        at: index)
                    return nil
                }
                if let decided { continuation.resume(with: decided) } else { signal.send() }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.sleepers.firstIndex { $0.id == id }.map { state.sleepers.remove(at: $0) }
            }
            cancelled?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns when there are at least `count` sleepers, or when the calling task is canceled. Wait for this before you
    /// advance the clock for code on other threads.
    public func sleepers(atLeast count: Int = 1) async {
        _ = await signal.wait(until: { sleeperCount >= count })
    }

    /// Advances the clock and wakes the sleepers that are due. Work that sleeps again after that is not woken; use
    /// `advance` with an executor for such work.
    public func advance(by duration: Duration) {
        let end = now.advanced(by: duration)
        while wakeNext(until: end) {}
        state.withLock { $0.now = max($0.now, end) }
    }

    /// Advances the clock from deadline to deadline, and lets all work on `executor` run at each until it waits. A
    /// timer of one second thus fires three times in three seconds.
    public func advance(by duration: Duration, running executor: TestExecutor) async {
        _ = await advance(by: duration) {
            await executor.idle()
            return true
        }
    }

    /// Advances the clock from deadline to deadline and calls `rest` at each. Stops and returns false if `rest` does.
    package func advance(by duration: Duration, resting rest: () async -> Bool) async -> Bool {
        let end = now.advanced(by: duration)
        guard await rest() else { return false }
        while wakeNext(until: end) {
            guard await rest() else { return false }
        }
        state.withLock { $0.now = max($0.now, end) }
        return true
    }

    /// Advances the clock to the last deadline and wakes all sleepers.
    public func run() {
        while wakeNext(until: nil) {}
    }

    private func wakeNext(until end: Instant?) -> Bool {
        let woken = state.withLock { $0.wakeNext(until: end) }
        for sleeper in woken { sleeper.continuation.resume() }
        return !woken.isEmpty
    }
}
