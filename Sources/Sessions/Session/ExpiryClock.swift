/// Measures the time since a session's last use by the journal's times since 1970.
///
/// If a wall clock is set forward, or the machine slept, every session not in use would expire at once. So such a step
/// counts only after a session's lifetime has passed: until then the clock before the step is used. A clock that is set
/// back, or drifts, is followed.
struct ExpiryClock {
    /// The maximum step of a correct clock between two looks.
    private static let drift: Duration = .seconds(60)

    /// The time since 1970 at the monotonic clock's zero.
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
