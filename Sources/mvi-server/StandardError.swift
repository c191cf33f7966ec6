#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a person reads what went wrong.
enum StandardError {
    static func write(_ line: String) {
        let bytes = Array("mvi-server: \(line)\n".utf8)
        // A reader that is gone is no reason to fail.
        _ = fwrite(bytes, 1, bytes.count, stderr)
    }
}
