#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The seeds of a test run.
enum Seeds {
    /// - Parameter usual: the number of seeds unless the environment sets another one, as script/night does. It may also
    ///   skip seeds, so that thousands run in several processes: a run's memory grows with them.
    static func list(from first: UInt64, usual: UInt64 = 60) -> [UInt64] {
        if let one = number("MVI_SIMULATION_SEED") { return [one] }
        let first = first + (number("MVI_SIMULATION_SKIP") ?? 0)
        return (0..<(number("MVI_SIMULATION_SEEDS") ?? usual)).map { first + $0 }
    }

    /// The folder for the stories of failing seeds; nil for none.
    static var stories: String? { getenv("MVI_SIMULATION_STORIES").map { String(cString: $0) } }

    static func write(_ story: [String], to path: String) {
        guard let file = fopen(path, "w") else { return }
        fputs(story.joined(separator: "\n") + "\n", file)
        fclose(file)
    }

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
}
