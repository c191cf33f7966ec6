#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The clocks of a client.
struct Timekeeper: Sendable {
    /// Returns the time since the client was created.
    let now: @Sendable () -> Duration
    /// Returns at the given time, or throws if the calling task is canceled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// Returns the time since 1970, which can be set.
    let wallTime: @Sendable () -> Duration

    init<C: Clock<Duration>>(
        _ clock: C, wallTime: @escaping @Sendable () -> Duration = { .seconds(Date().timeIntervalSince1970) }
    ) {
        self.wallTime = wallTime
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}
