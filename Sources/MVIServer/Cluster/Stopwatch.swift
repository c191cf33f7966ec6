/// The time since its creation, by a clock.
struct Stopwatch: Sendable {
    /// The elapsed time.
    let elapsed: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { elapsed = Self.start(clock) }

    private static func start(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
