import Locking
import MVI

/// The surroundings of a store under test, for a feature whose services need them, too.
///
/// ```swift
/// let store = TestStore(principal: ann) { surroundings in
///     Cart(prices: PriceList(clock: surroundings.clock, owner: surroundings.session.subject))
/// }
/// ```
public struct TestSurroundings: Sendable {
    /// The clock that the store's work waits on. It stands still until the test moves it.
    public let clock: ManualClock
    /// The executor of the store's work, one step at a time.
    public let executor: TestExecutor
    /// The session that the store belongs to.
    public let session: SessionInfo
    /// The sender of the test's intents; nil if anonymous.
    public let principal: Principal?
    /// The time on the wall clock, as `turn.now` has it: it moves with `clock`.
    public let now: @Sendable () -> Timestamp
    /// Makes UUIDs, as `turn.uuid()` does.
    public let uuid: @Sendable () -> String
}

extension Timestamp {
    /// The default start of tests: 2026-01-01T00:00:00Z.
    public static let testStart = Timestamp(sinceEpoch: .seconds(1_767_225_600))
}

/// Makes `00000000-0000-4000-8000-000000000001` and so on: UUIDs of version 4 in form, the same in each run.
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
