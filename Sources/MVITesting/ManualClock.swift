import Locking
import MVI

/// A clock that stands still until a test moves it.
///
/// Who sleeps on it is woken in the order of the deadlines, and of the calls where those are equal. A cancelled sleeper
/// throws `CancellationError` at once and is counted no more.
public final class ManualClock: Clock, Sendable {
    /// A time of this clock, as the distance from its start.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public let offset: Duration

        /// The instant that long after the clock's start.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// The instant that much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the time from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Returns true if `left` is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: UInt64
        let deadline: Instant
        /// True if something else goes on meanwhile that is given so much time.
        let isPatience: Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var lastID: UInt64 = 0
        /// By deadline, then by order of arrival.
        var sleepers: [Sleeper] = []

        /// Moves on to the earliest deadline up to `end` and takes who sleeps until then.
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

    /// A clock at its start.
    public init() {}

    /// The time that the test has set.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: every step can be told apart.
    public var minimumResolution: Duration { .zero }

    /// The number of sleeping tasks.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The number of sleeping tasks, without time limits.
    var waiterCount: Int { state.withLock { state in state.sleepers.count { !$0.isPatience } } }

    /// Returns when the test has moved the clock to `deadline`.
    ///
    /// - Throws: `CancellationError` if the calling task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let decided = state.withLock { state -> Result<Void, any Error>? in
                    // Read under the lock: `onCancel` comes after the flag is set, so one of the two sees the other.
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

    /// Returns when at least that many sleep, or when the calling task is cancelled: wait for this before you advance
    /// the clock for code that runs on other threads.
    public func sleepers(atLeast count: Int = 1) async {
        _ = await signal.wait(until: { sleeperCount >= count })
    }

    /// Moves the clock on and wakes who sleeps until then. Who goes back to sleep after that has missed it; `advance`
    /// with an executor lets them run in between.
    public func advance(by duration: Duration) {
        let end = now.advanced(by: duration)
        while wakeNext(until: end) {}
        state.withLock { $0.now = max($0.now, end) }
    }

    /// Moves the clock on from deadline to deadline, and at each lets all work on `executor` run until it waits, so
    /// that a timer of one second fires three times in three.
    public func advance(by duration: Duration, running executor: TestExecutor) async {
        _ = await advance(by: duration) {
            await executor.idle()
            return true
        }
    }

    /// The same for other ways to rest; stops, and returns false, where `rest` does.
    package func advance(by duration: Duration, resting rest: () async -> Bool) async -> Bool {
        let end = now.advanced(by: duration)
        guard await rest() else { return false }
        while wakeNext(until: end) {
            guard await rest() else { return false }
        }
        state.withLock { $0.now = max($0.now, end) }
        return true
    }

    /// Moves the clock on to the last deadline there is and wakes everybody.
    public func run() {
        while wakeNext(until: nil) {}
    }

    private func wakeNext(until end: Instant?) -> Bool {
        let woken = state.withLock { $0.wakeNext(until: end) }
        for sleeper in woken { sleeper.continuation.resume() }
        return !woken.isEmpty
    }
}
