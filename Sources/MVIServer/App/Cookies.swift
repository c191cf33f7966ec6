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

    /// The value of the cookie in a request; nil if there is none.
    package func value(_ fields: HeaderFields) -> Substring? {
        for field in fields.values(of: "cookie") {
            // By bytes: among Characters U+037E, the Greek question mark, equals the semicolon, and part of another
            // cookie's value would be the session's.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                let value = pair.dropFirst(name.utf8.count)
                guard pair.starts(with: name.utf8), value.first == UInt8(ascii: "=") else { continue }
                return Substring(value.dropFirst())
            }
        }
        return nil
    }

    /// The field that gives the browser the token, for as long as the session lives.
    func set(_ token: String) -> ResponseField {
        ResponseField("Set-Cookie", "\(name)=\(token)\(suffix); Max-Age=\(life)")
    }

    /// The field that takes it away.
    var clear: ResponseField { ResponseField("Set-Cookie", "\(name)=\(suffix); Max-Age=0") }
}
