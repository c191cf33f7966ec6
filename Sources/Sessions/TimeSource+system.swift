#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension TimeSource {
    /// The machine's clocks.
    package static let system = TimeSource(
        monotonic: { read(CLOCK_MONOTONIC) }, sinceEpoch: { read(CLOCK_REALTIME) })

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}
