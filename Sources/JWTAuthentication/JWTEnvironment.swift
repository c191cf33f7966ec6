#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import MVI

/// The clocks and the network of an authenticator. Tests replace them.
struct JWTEnvironment: Sendable {
    /// The wall clock, for the times in tokens.
    var now: @Sendable () -> Timestamp
    /// A monotonic clock, for the age of keys.
    var uptime: @Sendable () -> Duration
    /// Downloads the content at an address.
    var fetch: @Sendable (_ address: String) async throws(KeyReadError) -> [UInt8]

    /// The machine's clocks and network.
    static let system = JWTEnvironment(
        now: { Timestamp(sinceEpoch: read(CLOCK_REALTIME)) }, uptime: { read(CLOCK_MONOTONIC) },
        fetch: { address throws(KeyReadError) in try await KeyDownload()(address) })

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}
