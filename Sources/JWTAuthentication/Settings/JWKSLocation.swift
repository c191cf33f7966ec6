import MVIServer

/// The location of the issuer's public keys: a JSON Web Key Set (RFC 7517 section 5).
public enum JWKSLocation: Sendable, Hashable, CustomStringConvertible {
    /// The path of a file, which is read again when it changes.
    case file(String)
    /// An `https` address, or an `http` one of this machine.
    case url(String)

    /// The accepted values.
    static let expected =
        "the path of a file with a JWKS, or its address: https://… (http:// only for localhost, 127.0.0.1 or [::1]), "
        + "without a user's name or password"

    /// Creates a location from a text; nil for an address that is not allowed, and for an empty text.
    public init?(_ text: String) {
        guard let separator = text.firstRange(of: "://") else {
            guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
            self = .file(text)
            return
        }
        let authority = text[separator.upperBound...].prefix { !"/?#".contains($0) }
        // Checks the characters of host and port, and refuses a user name.
        guard let origin = Origin(setting: text[..<separator.upperBound] + authority),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("#"), !text.contains("\\")
        else { return nil }
        guard origin.isSecure || Self.isOnThisMachine(origin) else { return nil }
        self = .url(text)
    }

    /// The text of the location; an address without its query, which may contain a secret.
    public var description: String {
        switch self {
        case .file(let path): path
        case .url(let address): String(address.prefix { $0 != "?" })
        }
    }

    private static func isOnThisMachine(_ origin: Origin) -> Bool {
        guard origin.text.hasPrefix("http://") else { return false }
        let authority = origin.text.dropFirst("http://".count)
        let host = authority.first == "[" ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }
}
