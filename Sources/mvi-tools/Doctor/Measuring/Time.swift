#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// This machine's wall clock.
enum WallClock {
    /// The time since 1970.
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}

/// Runs `work` with a timeout; nil at the timeout or after cancellation. `work` must react to cancellation.
func within<Value: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Value?
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
