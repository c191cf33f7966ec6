import Locking
import MVI

/// The clock, session and other surroundings of a store under test, for a feature whose services need them too.
///
/// ```swift
/// let store = TestStore(principal: ann) { surroundings in
///     Cart(prices: PriceList(clock: surroundings.clock, owner: surroundings.session.subject))
/// }
/// ```
public struct TestSurroundings: Sendable {
    /// The clock of the store's work. It advances only when the test moves it.
    public let clock: ManualClock
    /// The executor of the store's work, which runs one step at a time.
    public let executor: TestExecutor
    /// The session of the store.
    public let session: SessionInfo
    /// The default sender of the test's intents; nil if the sender is anonymous.
    public let principal: Principal?
    /// Returns the wall-clock time, as `turn.now`. It advances with `clock`.
    public let now: @Sendable () -> Timestamp
    /// Returns UUIDs, as `turn.uuid()`.
    public let uuid: @Sendable () -> String
}

extension Timestamp {
    /// The default start time of tests: 2026-01-01T00:00:00Z.
    public static let testStart = Timestamp(sinceEpoch: .seconds(1_767_225_600))
}

/// Returns `00000000-0000-4000-8000-000000000001` and so on, which have the form of UUIDs of version 4.
final class CountedUUIDs: Sendable {
    private let count = Lock<UInt64>(0)

    func next() -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - min(12, digits.count))
            + digits.suffix(12)
    }
}
