/// The checks of a head that libmicrohttpd 0.9 omits.
///
/// They also run with 1.x, which does most of them itself.
package enum HeadCheck {
    /// The length of the body.
    package enum Framing: Equatable {
        case none
        case length(UInt64)
        case chunked

        var hasBody: Bool { self != .none && self != .length(0) }
    }

    /// Requires names to be tokens and values without control characters: others take a bare CR for a line's end.
    package static func fields(_ fields: HeaderFields) -> RequestFault? {
        fields.bytes.withUnsafeBufferPointer { bytes in
            for entry in fields.entries {
                guard UnsafeBufferPointer(rebasing: bytes[entry.name]).isToken else {
                    return RequestFault(.malformedHead, "A field's name has a character that no name may have.")
                }
                guard UnsafeBufferPointer(rebasing: bytes[entry.value]).isFieldValue else {
                    return RequestFault(.malformedHead, "A field's value has a control character.")
                }
            }
            return nil
        }
    }

    /// Requires fields that say who asks to appear once: a proxy may have checked another one than the server reads. All
    /// have a single value (RFC 9110 sections 5.3 and 11.6.2, RFC 6265 section 5.4, RFC 6454 section 7.3).
    package static func singles(_ fields: HeaderFields) -> RequestFault? {
        fields.firstDoubled(of: Self.single).map {
            RequestFault(.malformedHead, "The field \($0) appears more than once.")
        }
    }

    private static let single: [StaticString] = [
        "cookie", "origin", "authorization", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user",
    ]

    /// "A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host
    /// header field and to any request message that contains more than one Host header field line or a Host header
    /// field with an invalid field value" (RFC 9112 section 3.2).
    package static func host(_ fields: HeaderFields, target: RequestTarget, isHTTP10: Bool) -> RequestFault? {
        switch fields.occurrences(of: "host") {
        case (0, _):
            return isHTTP10 ? nil : RequestFault(.badHost, "The field Host is missing.")
        case (1, let host?):
            guard isHost(host) else {
                return RequestFault(.badHost, "The field Host does not name a host and an optional port.")
            }
            // A proxy that routed the request by its target and a reader of Host must see the same server.
            if let authority = target.authority, !authority.map(\.lowercased).elementsEqual(host.map(\.lowercased)) {
                return RequestFault(.badHost, "The target names another host than the field Host.")
            }
            return nil
        default:
            return RequestFault(.badHost, "The field Host appears more than once.")
        }
    }

    /// Returns the body's length if it is unambiguous (RFC 9112 section 6.3).
    package static func framing(_ fields: HeaderFields, isHTTP10: Bool) -> Result<Framing, RequestFault> {
        let (lengths, length) = fields.occurrences(of: "content-length")
        let (codings, coding) = fields.occurrences(of: "transfer-encoding")
        guard lengths <= 1, codings <= 1, lengths + codings <= 1 else {
            return ambiguous("The body's length is given more than once.")
        }
        if let length {
            var value: UInt64 = 0
            for byte in length {
                let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
                let (sum, carry) = shifted.addingReportingOverflow(UInt64(byte &- 0x30))
                guard byte.isDigit, !overflow, !carry else { return ambiguous("Content-Length is not a number.") }
                value = sum
            }
            return length.isEmpty ? ambiguous("Content-Length is empty.") : .success(.length(value))
        }
        guard let coding else { return .success(.none) }
        guard !isHTTP10 else { return ambiguous("HTTP/1.0 has no Transfer-Encoding.") }
        let names = coding.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { part in
            // By bytes: in Unicode the Kelvin sign is also a capital k, but libmicrohttpd takes such a coding for
            // another one, whose body has no end.
            String(
                decoding: part.drop(while: \.isBlank).reversed().drop(while: \.isBlank).reversed().map(\.lowercased),
                as: UTF8.self)
        }
        if names == ["chunked"] {
            // libmicrohttpd 0.9 treats a blank after the coding as part of its name, and reads a body without an end.
            let isFollowedByBlank = coding.endIndex < fields.bytes.count && fields.bytes[coding.endIndex].isBlank
            return isFollowedByBlank
                ? ambiguous("A blank follows the Transfer-Encoding \"chunked\".") : .success(.chunked)
        }
        if names.allSatisfy({ ["chunked", "identity", ""].contains($0) }) {
            return ambiguous("Transfer-Encoding must be \"chunked\", once.")
        }
        return .failure(RequestFault(.unknownTransferCoding, "The only supported transfer coding is \"chunked\"."))
    }

    private static func ambiguous(_ detail: String) -> Result<Framing, RequestFault> {
        .failure(RequestFault(.ambiguousLength, detail))
    }

    /// Parses `uri-host [ ":" port ]`: a name, an IPv4 address, or an IPv6 one in brackets.
    private static func isHost(_ value: ArraySlice<UInt8>) -> Bool {
        guard let first = value.first, value.allSatisfy(\.isHostByte) else { return false }
        let open = UInt8(ascii: "[")
        let shut = UInt8(ascii: "]")
        let colon = UInt8(ascii: ":")
        if first == open {
            guard let end = value.firstIndex(of: shut), end > value.startIndex + 1 else { return false }
            let rest = value[(end + 1)...]
            return rest.isEmpty || rest.first == colon && rest.dropFirst().allSatisfy(\.isDigit)
        }
        guard first != colon, !value.contains(where: { $0 == open || $0 == shut }) else { return false }
        guard let port = value.firstIndex(of: colon) else { return true }
        return value[(port + 1)...].allSatisfy(\.isDigit)
    }
}
