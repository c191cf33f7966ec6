/// A server's address for clients: scheme, host and port.
struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    let isSecure: Bool
    /// In lower case; an IPv6 address in brackets.
    let host: String
    let port: Int

    /// Creates an address from text, such as `https://mvi.example.com`; nil for another scheme, and with a user, path,
    /// query or fragment, because the server's paths begin at the root.
    init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        let authority = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        guard !authority.isEmpty, authority.utf8.allSatisfy(Self.isAllowed) else { return nil }
        let nameEnd =
            authority.lastIndex(of: "]").map { authority.index(after: $0) }
            ?? authority.firstIndex(of: ":") ?? authority.endIndex
        let name = authority[..<nameEnd]
        let rest = authority[nameEnd...]
        guard !name.isEmpty, name.hasPrefix("[") == name.hasSuffix("]") else { return nil }
        host = name.lowercased()
        guard !rest.isEmpty else {
            port = isSecure ? 443 : 80
            return
        }
        guard rest.first == ":", let number = Int(rest.dropFirst()), 1...65_535 ~= number else { return nil }
        port = number
    }

    /// The origin that browsers send for its pages (RFC 6454 section 6.2), without the scheme's default port.
    var description: String {
        let isUsual = port == (isSecure ? 443 : 80)
        return (isSecure ? "https://" : "http://") + host + (isUsual ? "" : ":\(port)")
    }

    /// True for characters of names and addresses.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
