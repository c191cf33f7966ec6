import MicroHTTP

/// The session's cookie, RFC 6265.
package struct CookiePolicy: Sendable {
    /// `__Host-` binds a cookie to its host, its path `/` and TLS; browsers refuse it without all three.
    package let name: String
    private let suffix: String
    private let life: Int64

    package init(isSecure: Bool, sessionLife: Duration) {
        name = isSecure ? "__Host-mvi_session" : "mvi_session"
        suffix = "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        life = sessionLife.components.seconds
    }

    /// Returns the cookie's value in a request; nil if there is none.
    package func value(_ fields: HeaderFields) -> Substring? {
        for field in fields.values(of: "cookie") {
            // Splits bytes: as a Character, U+037E (the Greek question mark) equals the semicolon, so that a part of
            // another cookie's value could become the session's cookie.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                let value = pair.dropFirst(name.utf8.count)
                guard pair.starts(with: name.utf8), value.first == UInt8(ascii: "=") else { continue }
                return Substring(value.dropFirst())
            }
        }
        return nil
    }

    /// The field that sets the token in the browser for the lifetime of the session.
    func set(_ token: String) -> ResponseField {
        ResponseField("Set-Cookie", "\(name)=\(token)\(suffix); Max-Age=\(life)")
    }

    /// The field that deletes the cookie.
    var clear: ResponseField { ResponseField("Set-Cookie", "\(name)=\(suffix); Max-Age=0") }
}
