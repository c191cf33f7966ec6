import CMicroHTTPD
import Networks

/// Reads a request's head from libmicrohttpd's memory, in the first call of the handler.
///
/// libmicrohttpd 0.9 parses in place: from the method on, the head is one block of known size, with NULs in place of
/// the separators. So one copy is enough, and the gaps reveal errors that its parser accepts: between a value and the
/// next name there must be exactly one CRLF. Otherwise a line was folded, ended in a bare LF, or contains a NUL that
/// cut a C string short.
enum HeadReader {
    /// The arguments of the library's handler. The pointers are NUL-terminated and valid until the request's end.
    struct Raw {
        var connection: OpaquePointer
        var method: UnsafePointer<CChar>
        var target: UnsafePointer<CChar>
        var version: UnsafePointer<CChar>
    }

    private struct Collector {
        var base: UnsafeRawPointer
        var size: Int
        var entries: [HeaderFields.Entry] = []
        var isWhole = true

        mutating func add(_ name: UnsafeRawPointer, _ nameSize: Int, _ value: UnsafeRawPointer?, _ valueSize: Int) {
            let nameStart = name - base
            let valueStart = value.map { $0 - base } ?? -1
            guard 0 <= nameStart, nameStart + nameSize < valueStart, valueStart + valueSize <= size else {
                isWhole = false
                return
            }
            // 0.9 leaves blanks at the value's end.
            var valueEnd = valueStart + valueSize
            while valueEnd > valueStart, base.load(fromByteOffset: valueEnd - 1, as: UInt8.self).isBlank {
                valueEnd -= 1
            }
            entries.append(
                HeaderFields.Entry(
                    nameStart: UInt32(nameStart), nameEnd: UInt32(nameStart + nameSize),
                    valueStart: UInt32(valueStart), valueEnd: UInt32(valueEnd)))
        }
    }

    /// Returns the head and the body's length, or the fault. `local` gives the socket's own address.
    static func read(
        _ raw: Raw, target: RequestTarget?, limit: Int, connection: (any RequestConnection)?, local: () -> PeerAddress
    ) -> Result<(head: RequestHead, framing: HeadCheck.Framing), RequestFault> {
        let size = cmhd_head_size(raw.connection)
        guard size <= limit else {
            return .failure(RequestFault(.headTooLarge, "The request's line and fields have more than \(limit) bytes."))
        }
        guard let target else {
            return .failure(
                RequestFault(.malformedTarget, "The request's target is neither a path nor an absolute http address."))
        }
        let base = UnsafeRawPointer(raw.method)
        var collector = Collector(base: base, size: size)
        collector.entries.reserveCapacity(16)
        withUnsafeMutablePointer(to: &collector) { collector in
            _ = MHD_get_connection_values_n(
                raw.connection, .HEADER_KIND,
                { context, _, name, nameSize, value, valueSize in
                    guard let context, let name else { return .NO }
                    context.assumingMemoryBound(to: Collector.self).pointee.add(name, nameSize, value, valueSize)
                    return .YES
                }, collector)
        }
        let bytes = [UInt8](UnsafeRawBufferPointer(start: base, count: size))
        guard collector.isWhole, isWellSpaced(raw, bytes, collector.entries, target) else {
            return .failure(
                RequestFault(
                    .malformedHead, "A line of the head is folded, holds a NUL, or does not end in CR and LF."))
        }
        let method = bytes[..<(UnsafeRawPointer(raw.target) - base - 1)]
        guard method.withUnsafeBufferPointer(\.isToken) else {
            return .failure(RequestFault(.malformedHead, "The method has a character that no method may have."))
        }
        let isHTTP10 = bytes[UnsafeRawPointer(raw.version) - base + 7] == UInt8(ascii: "0")
        let fields = HeaderFields(bytes: bytes, entries: collector.entries)
        let fault =
            HeadCheck.fields(fields) ?? HeadCheck.host(fields, target: target, isHTTP10: isHTTP10)
            ?? HeadCheck.singles(fields)
        if let fault { return .failure(fault) }
        return HeadCheck.framing(fields, isHTTP10: isHTTP10).map { framing in
            let head = RequestHead(
                method: String(decoding: method, as: UTF8.self), path: target.path, query: target.query,
                isHTTP10: isHTTP10, fields: fields, peer: PeerAddress(cmhd_peer(raw.connection)),
                local: isAddress(fields.bytes(of: "host")) ? local() : .unknown, connection: connection)
            return (head, framing)
        }
    }

    /// Returns the line and `Origin` of a head that is too large, so that a page can read the answer. `Origin` is at most
    /// as long as the library's memory of the connection.
    static func outline(_ raw: Raw, _ target: RequestTarget) -> RequestHead {
        let origin = MHD_lookup_connection_value(raw.connection, .HEADER_KIND, "Origin").map { String(cString: $0) }
        return RequestHead(
            method: String(cString: raw.method), path: target.path, query: target.query, isHTTP10: false,
            fields: HeaderFields(origin.map { [("Origin", $0)] } ?? []), peer: PeerAddress(cmhd_peer(raw.connection)),
            local: .unknown)
    }

    /// True if a `Host` may be an IP address.
    private static func isAddress(_ host: ArraySlice<UInt8>?) -> Bool {
        host?.first.map { $0.isDigit || $0 == UInt8(ascii: "[") } ?? false
    }

    /// True if every byte of the block belongs to the line, a name, a value, or a required separator.
    private static func isWellSpaced(
        _ raw: Raw, _ bytes: [UInt8], _ entries: [HeaderFields.Entry], _ target: RequestTarget
    ) -> Bool {
        let base = UnsafeRawPointer(raw.method)
        let targetStart = UnsafeRawPointer(raw.target) - base
        let versionStart = UnsafeRawPointer(raw.version) - base
        // `HTTP/1.1` has eight bytes.
        guard
            (bytes.firstIndex(of: 0) ?? bytes.count) + 1 == targetStart,
            targetStart + target.length + 1 == versionStart, versionStart + 8 <= bytes.count
        else { return false }
        var lineEnd = versionStart + 8
        for entry in entries {
            guard isLineEnd(bytes, lineEnd, Int(entry.nameStart)) else { return false }
            // Between the colon and the value there may only be blanks.
            guard bytes[(Int(entry.nameEnd) + 1)..<Int(entry.valueStart)].allSatisfy(\.isBlank) else { return false }
            lineEnd = Int(entry.valueEnd)
        }
        return isLineEnd(bytes, lineEnd, bytes.count - 2)
    }

    /// True if the range contains only blanks and one CRLF, which the library may have overwritten.
    private static func isLineEnd(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
        guard start <= end - 2, end <= bytes.count else { return false }
        return bytes[start..<(end - 2)].allSatisfy(\.isBlank)
            && bytes[(end - 2)..<end].allSatisfy {
                $0 == 0 || $0 == 0x0D || $0 == 0x0A
            }
    }
}
