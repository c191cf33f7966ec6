/// Percent-encoding, RFC 3986 section 2.1, on bytes.
package enum PercentEncoding {
    /// Decodes a path segment or query component; nil if a `%` is not followed by two hex digits, or the bytes are not
    /// UTF-8. `plusIsSpace` is for queries of HTML forms.
    package static func decode(_ raw: some Collection<UInt8>, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var rest = raw[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A path as a reference (RFC 3986 section 4.1) that is safe to quote: its first 256 bytes, with invalid characters
    /// encoded. Escapes are not split.
    package static func reference(_ path: [UInt8]) -> String {
        let longest = 256
        var text = ""
        for (index, byte) in path.prefix(longest).enumerated() {
            var isPlain = (0x21...0x7E).contains(byte) && !##""#<>[\]^`{|}"##.utf8.contains(byte)
            if byte == UInt8(ascii: "%") {
                isPlain = path.dropFirst(index + 1).prefix(2).count { hexValue($0) != nil } == 2
                if isPlain, index + 2 >= longest { break }
            }
            // Two slashes at the beginning would start a host.
            if index == 1, byte == UInt8(ascii: "/"), path[0] == byte { isPlain = false }
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += byte < 16 ? "%0" : "%"
                text += String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// Encodes a text as a component of a query (RFC 3986 section 3.4), except unreserved characters.
    static func component(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
