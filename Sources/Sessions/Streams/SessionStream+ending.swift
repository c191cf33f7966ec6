import Locking
import MVI

extension SessionStream {
    /// True if its client has lost its access: unsent bytes must not be sent.
    package var dropsUnsent: Bool {
        session.core.withLock { core in
            guard let index = core.streams.index(of: number), !core.streams.all[index].isOver else { return false }
            return core.streams.all[index].isCut
        }
    }

    func cut(_ reason: GoAwayReason) {
        session.core.withLock { core in
            if let index = core.streams.index(of: number) { core.streams.all[index].cut(reason) }
        }
    }

    /// A comment event that keeps the connection alive.
    package func ping() -> [UInt8] {
        let now = session.shared.time.sinceEpoch().components
        session.shared.metrics.pings.increment()
        return StreamEvents.ping(
            milliseconds: UInt64(now.seconds) * 1_000 + UInt64(now.attoseconds / 1_000_000_000_000_000))
    }

    /// Asks the stream to send its farewell and end.
    package func goAway(_ reason: GoAwayReason) {
        let now = session.shared.time.monotonic()
        let waker = session.core.withLock { core -> (any StreamWaker)? in
            guard let index = core.streams.index(of: number) else { return nil }
            core.streams.all[index].finish(reason, at: core.lastPosition(now: now))
            return core.streams.all[index].waker
        }
        waker?.wake()
    }
}
