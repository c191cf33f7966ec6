#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a person reads what went wrong.
enum StandardError {
    static func say(_ line: String) {
        let bytes = Array("mvi-server: \(line)\n".utf8)
        // A reader that is gone is no reason to fail.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
