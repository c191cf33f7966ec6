/// Where a page comes from: scheme, host and port (RFC 6454), as browsers write it in `Origin`.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `https://app.example.com`, in lower case and without a default port.
    public let text: String

    /// From an address; nil if it has a path, a query, user information, or is no address at all. A slash at the end
    /// is taken off.
    public init?(setting address: some StringProtocol) {
        var text = address.lowercased()
        if text.hasSuffix("/") { text.removeLast() }
        guard let separator = Self.schemeEnd(of: text) else { return nil }
        let scheme = text[..<separator]
        let rest = text[separator...].dropFirst(3)
        guard
            let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            scheme.utf8.allSatisfy({ Self.isNameByte($0) || $0 == UInt8(ascii: "+") }),
            !rest.isEmpty,
            rest.utf8.allSatisfy({ byte in Self.isNameByte(byte) || "_:[]".utf8.contains(byte) })
        else { return nil }
        let defaultPort = scheme == "https" ? ":443" : scheme == "http" ? ":80" : nil
        if let defaultPort, text.hasSuffix(defaultPort), !text.hasSuffix("[\(defaultPort)") {
            text.removeLast(defaultPort.count)
        }
        self.text = text
    }

    /// Whether pages of it came over TLS.
    public var isSecure: Bool { text.hasPrefix("https://") }

    public var description: String { text }

    /// Host and port.
    var authority: Substring {
        guard let separator = Self.schemeEnd(of: text) else { return "" }
        return text[separator...].dropFirst(3)
    }

    private static func schemeEnd(of text: String) -> String.Index? {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        return colon
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}
