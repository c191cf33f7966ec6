#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import MVI

/// The clocks and the network of an authenticator, so that tests can set them.
struct JWTEnvironment: Sendable {
    /// The wall clock, which tokens are judged by.
    var now: @Sendable () -> Timestamp
    /// A clock that is never set, for the age of keys.
    var uptime: @Sendable () -> Duration
    /// The content at an address.
    var fetch: @Sendable (_ address: String) async throws(KeyReadError) -> [UInt8]

    /// The machine's.
    static let system = JWTEnvironment(
        now: { Timestamp(sinceEpoch: read(CLOCK_REALTIME)) }, uptime: { read(CLOCK_MONOTONIC) },
        fetch: { address throws(KeyReadError) in try await KeyDownload()(address) })

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}
