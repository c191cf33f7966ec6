import FuzzTargets

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs one target on one input, and ends the process if a property does not hold.
enum Input {
    /// The target that the first argument names; nil if there is none.
    static let target = CommandLine.arguments.dropFirst().first.flatMap { name in
        FuzzTarget.all.first { $0.name == name }
    }

    private static let hasTrap = getenv("FUZZ_TRAP") != nil
    /// The number of inputs on which the target ran in the search for the trap.
    nonisolated(unsafe) private static var runs = 0

    static func run(_ input: [UInt8]) {
        if hasTrap {
            if FuzzTarget.isTrap(input) { fatalError("The planted trap was found.") }
            // Some targets are slow and the trap needs a long search, so the target runs on one of 64 inputs, and on 512.
            guard input.reduce(0, &+) & 63 == 0, runs < 512 else { return }
            runs += 1
        }
        do throws(BrokenProperty) {
            try target?.run(input)
        } catch {
            fatalError("\(error)")
        }
    }

    /// Returns the bytes of a file; nil if it cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return ferror(file) == 0 ? bytes : nil }
            bytes += buffer[..<count]
        }
    }
}
