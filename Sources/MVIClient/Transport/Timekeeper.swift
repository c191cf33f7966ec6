/// A clock as the client uses it.
struct Timekeeper: Sendable {
    /// The time since the client was made.
    let now: @Sendable () -> Duration
    /// Returns at that time, or throws if the calling task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init<C: Clock<Duration>>(_ clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}
