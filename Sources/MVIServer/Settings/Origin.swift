/// The origin of a page: scheme, host and port (RFC 6454), as browsers write it in `Origin`.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `https://app.example.com`, in lower case and without a default port.
    public let text: String

    /// Creates an origin from an address. A slash at the end is removed. Nil if the address is malformed or has a path,
    /// a query or user information.
    public init?(setting address: some StringProtocol) {
        var text = address.lowercased()
        if text.hasSuffix("/") { text.removeLast() }
        guard let separator = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<separator.lowerBound]
        guard let first = scheme.utf8.first, Self.isLetter(first), scheme.utf8.allSatisfy(Self.isSchemeByte) else {
            return nil
        }
        guard let (host, port) = Self.hostAndPort(text[separator.upperBound...]) else { return nil }
        let isDefault = (scheme == "https" && port == "443") || (scheme == "http" && port == "80")
        self.text = port.isEmpty || isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }

    /// The host, with its port if it has one.
    var host: String { text.split(separator: "://", maxSplits: 1).last.map(String.init) ?? "" }

    /// The port; nil if it is the default of the scheme.
    var port: UInt16? {
        Self.hostAndPort(Substring(host)).flatMap { UInt16($0.port) }
    }

    /// True if pages of the origin use TLS.
    public var isSecure: Bool { text.hasPrefix("https://") }

    /// The text.
    public var description: String { text }

    /// Splits `host`, `host:port`, `[address]` or `[address]:port`; the port is empty if there is none.
    private static func hostAndPort(_ authority: Substring) -> (host: Substring, port: Substring)? {
        let host: Substring
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end]
            guard host.utf8.dropFirst().dropLast().allSatisfy(isAddressByte) else { return nil }
        } else {
            host = authority.prefix { $0 != ":" }
            guard !host.isEmpty, host.utf8.allSatisfy(isHostByte) else { return nil }
        }
        let rest = authority[host.endIndex...]
        if rest.isEmpty { return (host, rest) }
        let port = rest.dropFirst()
        guard rest.first == ":", UInt16(port) != nil else { return nil }
        return (host, port)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "+-.".utf8.contains(byte)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "-._".utf8.contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) || ":.".utf8.contains(byte)
    }
}
