#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The seeds of a test run.
enum Seeds {
    /// - Parameter usual: how many they are if nothing else is asked for.
    static func list(from first: UInt64, usual: UInt64 = 1_000) -> [UInt64] {
        if let one = number("MVI_SIMULATION_SEED") { return [one] }
        return (0..<(number("MVI_SIMULATION_SEEDS") ?? usual)).map { first + $0 }
    }

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
}
