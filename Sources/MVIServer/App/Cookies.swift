import MicroHTTP

/// The session's cookie, RFC 6265.
package struct CookiePolicy: Sendable {
    /// `__Host-` binds a cookie to its host, its path `/` and TLS; browsers refuse it without all three.
    package let name: String
    private let suffix: String
    private let (life, signedInLife): (Int64, Int64)
    /// The longest lifetime that browsers accept: 400 days, draft-ietf-httpbis-rfc6265bis section 5.5.
    private static let longest: Duration = .seconds(400 * 24 * 3600)

    /// - Parameters:
    ///   - sessionLife: the lifetime of an anonymous session.
    ///   - credentialLife: the lifetime of a signed-in client's credential.
    package init(isSecure: Bool, sessionLife: Duration, credentialLife: Duration) {
        name = isSecure ? "__Host-mvi_session" : "mvi_session"
        suffix = "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        life = min(sessionLife, Self.longest).components.seconds
        signedInLife = min(credentialLife, Self.longest).components.seconds
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

    /// The field that sets the token in the browser for the lifetime of the session, or of a signed-in client's
    /// credential.
    func set(_ token: String, isSignedIn: Bool) -> ResponseField {
        ResponseField("Set-Cookie", "\(name)=\(token)\(suffix); Max-Age=\(isSignedIn ? signedInLife : life)")
    }

    /// The field that deletes the cookie.
    var clear: ResponseField { ResponseField("Set-Cookie", "\(name)=\(suffix); Max-Age=0") }
}
