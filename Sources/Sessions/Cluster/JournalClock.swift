import Locking

/// The clock of a journal that several nodes share: all of them judge times since 1970 by it, whatever their own clocks
/// show.
///
/// Each answer that bears the journal's time bounds the difference to this machine's monotonic clock: the journal's clock was
/// read between the question and the answer. An estimate within the bounds stays (D. Mills, RFC 5905, section 10); a slow
/// answer, whose bounds are far apart, moves nothing.
package final class JournalClock: Sendable {
    /// A node whose own clock is further off is not ready: a person has to look at one of the two.
    static let tolerance: Duration = .seconds(60)

    private let own: TimeSource
    /// The journal's time at the monotonic clock's zero. Nil as long as it is not known.
    private let offset = Lock<Duration?>(nil)

    init(_ own: TimeSource) { self.own = own }

    /// The node's monotonic clock, and the journal's time as soon as it is known; before that the node's own.
    var source: TimeSource {
        TimeSource(
            monotonic: own.monotonic,
            sinceEpoch: { [self] in offset.withLock { $0 }.map { own.monotonic() + $0 } ?? own.sinceEpoch() })
    }

    /// The journal's clock showed `time` between two times of the monotonic clock.
    func note(_ time: Duration, sent: Duration, received: Duration) {
        offset.withLock { $0 = min(max($0 ?? time - received, time - received), time - sent) }
    }

    /// How far the node's own clock is ahead of the journal's; nil as long as that is not known.
    package var difference: Duration? {
        let now = own.sinceEpoch() - own.monotonic()
        return offset.withLock { $0 }.map { now - $0 }
    }

    /// Whether the difference is known and small enough to delete by it.
    var isTrusted: Bool { difference.map { $0 <= Self.tolerance && .zero - $0 <= Self.tolerance } ?? false }

    /// What an operator is told where the clocks are too far apart; nil where they are not, as far as is known.
    package var trouble: String? {
        guard let difference, !isTrusted else { return nil }
        let seconds = difference.components.seconds
        return
            "This machine's clock is \(seconds.magnitude) s \(seconds > 0 ? "ahead of" : "behind") the clock of the journal's database; \(Self.tolerance.components.seconds) s are allowed. Set the one that is wrong: until then the server is not ready, and lets no session expire."
    }
}
