import MicroHTTP

/// The session's cookie, RFC 6265.
struct CookiePolicy: Sendable {
    /// `__Host-` binds a cookie to its host, its path `/` and TLS; browsers refuse it without all three.
    let name: String
    private let suffix: String
    private let life: Int64

    init(isSecure: Bool, sessionLife: Duration) {
        name = isSecure ? "__Host-mvi_session" : "mvi_session"
        suffix = "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        life = sessionLife.components.seconds
    }

    /// The value of the cookie in a request; nil if there is none.
    func value(_ fields: HeaderFields) -> Substring? {
        for field in fields.values(of: "cookie") {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard pair.hasPrefix(name), pair.dropFirst(name.count).first == "=" else { continue }
                return pair.dropFirst(name.count + 1)
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
