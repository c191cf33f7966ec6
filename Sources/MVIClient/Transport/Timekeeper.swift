/// The clock of a client.
struct Timekeeper: Sendable {
    /// Returns the time since the client was created.
    let now: @Sendable () -> Duration
    /// Returns at the given time, or throws if the calling task is canceled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init<C: Clock<Duration>>(_ clock: C) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}
