#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Nanoseconds since some fixed point, for how long something took. `ContinuousClock` costs ten times as much, and this
/// is read twice a turn.
@usableFromInline
package func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

extension Timestamp {
    /// What the machine's wall clock says.
    static var system: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(sinceEpoch: .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec)))
    }
}

extension Duration {
    /// Whole nanoseconds, none if it is negative.
    @usableFromInline var nanoseconds: UInt64 {
        UInt64(clamping: components.seconds) &* 1_000_000_000
            &+ UInt64(clamping: components.attoseconds / 1_000_000_000)
    }
}
