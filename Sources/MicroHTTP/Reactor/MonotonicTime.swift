import Glibc

/// Returns the monotonic clock's time in nanoseconds.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

extension Duration {
    /// The duration in nanoseconds, clamped to 0 and to half the largest number.
    var clampedNanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        // Half the range, so that a deadline may be added to a time.
        return overflow ? .max / 2 : min(product + UInt64(attoseconds) / 1_000_000_000, .max / 2)
    }

    /// The duration in whole milliseconds, at least 1.
    var clampedMilliseconds: Int { Int(min(max(1, clampedNanoseconds / 1_000_000), UInt64(Int32.max))) }

    /// The duration in whole seconds rounded up, at least 1.
    var clampedSeconds: Int { Int(min(max(1, (clampedNanoseconds + 999_999_999) / 1_000_000_000), 1 << 30)) }
}
