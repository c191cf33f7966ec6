import Locking

/// The clock of a shared journal. All nodes measure times since 1970 by it, not by their own clocks.
///
/// Each answer with the journal's time bounds the offset to this machine's monotonic clock: the journal read its clock
/// between the question and the answer. An estimate within the bounds stays (D. Mills, RFC 5905, section 10). A slow
/// answer has wide bounds and changes nothing.
package final class JournalClock: Sendable {
    /// A node whose own clock differs by more is not ready: an operator has to correct one of the clocks.
    static let tolerance: Duration = .seconds(60)

    private let own: TimeSource
    /// The journal's time at the monotonic clock's zero. Nil until it is known.
    private let offset = Lock<Duration?>(nil)

    init(_ own: TimeSource) { self.own = own }

    /// The node's monotonic clock and the journal's time. Until that is known, the node's own time.
    var source: TimeSource {
        TimeSource(
            monotonic: own.monotonic,
            sinceEpoch: { [self] in offset.withLock { $0 }.map { own.monotonic() + $0 } ?? own.sinceEpoch() })
    }

    /// Records that the journal's clock showed `time` between two times of the monotonic clock.
    func note(_ time: Duration, sent: Duration, received: Duration) {
        offset.withLock { $0 = min(max($0 ?? time - received, time - received), time - sent) }
    }

    /// The difference by which the node's own clock is ahead of the journal's. Nil until it is known.
    package var difference: Duration? {
        let now = own.sinceEpoch() - own.monotonic()
        return offset.withLock { $0 }.map { now - $0 }
    }

    /// True if the difference is known and small enough to expire sessions by this clock.
    var isTrusted: Bool { difference.map { $0 <= Self.tolerance && .zero - $0 <= Self.tolerance } ?? false }

    /// The message for the operator if the clocks differ too much; otherwise nil.
    package var trouble: String? {
        guard let difference, !isTrusted else { return nil }
        let seconds = difference.components.seconds
        return
            "This machine's clock is \(seconds.magnitude) s \(seconds > 0 ? "ahead of" : "behind") the clock of the journal's database; \(Self.tolerance.components.seconds) s are allowed. Correct the wrong clock: until then the server is not ready and expires no sessions."
    }
}
