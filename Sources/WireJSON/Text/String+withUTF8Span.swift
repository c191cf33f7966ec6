extension String {
    /// Lends the text's bytes in place. The iterator of `utf8` looks up the storage for each byte.
    @inline(__always)
    func withUTF8Span<Result>(_ body: (Span<UInt8>) throws -> Result) rethrows -> Result {
        if #available(macOS 26.0, iOS 26.0, watchOS 26.0, tvOS 26.0, visionOS 26.0, *) {
            return try body(utf8.span)
        }
        return try body(ContiguousArray(utf8).span)
    }
}
