/// A parsed request target (RFC 9112 section 3.2).
package struct RequestTarget {
    package var path: [UInt8]
    package var query: [UInt8]?
    /// The host and port of an absolute-form target.
    package var authority: [UInt8]?
    /// The size of the target as sent in bytes, to find the line's next part.
    var length: Int

    /// Parses a target; nil if its form is not supported.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        length = bytes.count
        guard !bytes.isEmpty, !bytes.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { return nil }
        var rest = bytes[...]
        if rest.first != UInt8(ascii: "/"), let start = Self.authorityStart(bytes) {
            // "A server MUST accept the absolute-form in requests" (RFC 9112 section 3.2.2).
            let end = rest[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            authority = Array(rest[start..<end])
            rest = rest[end...]
        }
        let pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        path = Array(rest[rest.startIndex..<pathEnd])
        query = pathEnd < rest.endIndex ? Array(rest[(pathEnd + 1)...]) : nil
        if authority != nil, path.isEmpty { path = [UInt8(ascii: "/")] }
        guard path.first == UInt8(ascii: "/") || (path == [UInt8(ascii: "*")] && authority == nil) else { return nil }
    }

    private static func authorityStart(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for scheme in ["http://", "https://"] where bytes.count > scheme.utf8.count {
            if zip(bytes, scheme.utf8).allSatisfy({ $0.lowercased == $1 }) { return scheme.utf8.count }
        }
        return nil
    }
}
