/// Judges how long ago a session was used by times since 1970 that the journal keeps.
///
/// A wall clock that is set forward, or a machine that slept, would end every session at once that was not in use just
/// then. So such a step counts only when a session's life has passed after it: until then times are judged by the clock
/// as it was. A clock that is set back, or drifts, is followed.
struct LifeClock {
    /// Clocks that are kept right move by less between two looks.
    private static let drift: Duration = .seconds(60)

    /// Since 1970, at the monotonic clock's zero.
    private var offset: Duration?
    private var steppedAt: Duration?

    mutating func time(_ now: Moment, sessionLife: Duration) -> Duration {
        let current = now.sinceEpoch - now.monotonic
        if let offset, current > offset + Self.drift {
            let step = steppedAt ?? now.monotonic
            steppedAt = step
            if now.monotonic - step < sessionLife { return now.monotonic + offset }
        }
        offset = current
        steppedAt = nil
        return now.sinceEpoch
    }
}
