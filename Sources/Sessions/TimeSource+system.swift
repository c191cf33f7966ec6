#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension TimeSource {
    /// The machine's clocks. The monotonic one goes on while the machine sleeps: other machines go on, too.
    package static let system = TimeSource(
        monotonic: { read(continuous) }, sinceEpoch: { read(CLOCK_REALTIME) })

    #if os(Linux)
        private static let continuous = CLOCK_BOOTTIME
    #else
        private static let continuous = CLOCK_MONOTONIC
    #endif

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}
