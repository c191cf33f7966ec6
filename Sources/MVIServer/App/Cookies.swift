import MicroHTTP

/// The session's cookie, RFC 6265.
package struct CookiePolicy: Sendable {
    /// The port in the cookie's name. Cookies know no ports (RFC 6265 section 8.5): two servers of one host would
    /// otherwise replace each other's cookies.
    package enum Port: Sendable {
        /// That of the public URL; nil for the default of its scheme.
        case fixed(UInt16?)
        /// That of the request's `Host`.
        case ofHost
    }

    /// The name without a port. `__Host-` binds a cookie to its host, its path `/` and TLS; browsers refuse it without
    /// all three.
    package let name: String
    private let port: Port
    private let suffix: String
    private let (life, signedInLife): (Int64, Int64)
    /// The longest lifetime that browsers accept: 400 days, draft-ietf-httpbis-rfc6265bis section 5.5.
    private static let longest: Duration = .seconds(400 * 24 * 3600)

    /// - Parameters:
    ///   - sessionLife: the lifetime of an anonymous session.
    ///   - credentialLife: the lifetime of a signed-in client's credential.
    package init(isSecure: Bool, port: Port = .fixed(nil), sessionLife: Duration, credentialLife: Duration) {
        name = isSecure ? "__Host-mvi_session" : "mvi_session"
        self.port = port
        suffix = "; Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        life = min(sessionLife, Self.longest).components.seconds
        signedInLife = min(credentialLife, Self.longest).components.seconds
    }

    /// The policy of a server. Nodes without a public URL have one name: a proxy may send them different ports.
    init(_ settings: ServerSettings, hasNodes: Bool) {
        let port: Port = settings.publicURL.map { .fixed($0.port) } ?? (hasNodes ? .fixed(nil) : .ofHost)
        self.init(
            isSecure: settings.publicURL?.isSecure == true, port: port, sessionLife: settings.sessionLife,
            credentialLife: settings.credentialLife)
    }

    /// Returns the cookie's name for a request.
    func name(for fields: HeaderFields) -> String {
        let port =
            switch port {
            case .fixed(let port): port
            case .ofHost: fields.bytes(of: "host").flatMap(Self.port)
            }
        return port.map { "\(name)_\($0)" } ?? name
    }

    /// The port of a `Host`; nil without one and for the default, which browsers leave out.
    private static func port(of host: ArraySlice<UInt8>) -> UInt16? {
        guard let colon = host.lastIndex(of: UInt8(ascii: ":")), let number = host[(colon + 1)...].decimal,
            let port = UInt16(exactly: number), ![0, 80, 443].contains(port)
        else { return nil }
        return port
    }

    /// Returns the cookie's value in a request; nil if there is none. Without a cookie of this name, that is one with an
    /// old name.
    package func value(_ fields: HeaderFields) -> Substring? { sent(fields)?.value }

    /// - Returns: the value, and the name if it is an old one: one without a port, of servers before this name, or one
    ///   with the port of `Host`, of a server that has become a node.
    private func sent(_ fields: HeaderFields) -> (value: Substring, oldName: String?)? {
        let list = fields.values(of: "cookie")
        guard !list.isEmpty else { return nil }
        let own = name(for: fields)
        if let value = Self.value(of: own, in: list) { return (value, nil) }
        let port = fields.bytes(of: "host").flatMap(Self.port)
        let old = own != name ? name : port.map { "\(name)_\($0)" }
        guard let old, let value = Self.value(of: old, in: list) else { return nil }
        return (value, old)
    }

    private static func value(of name: String, in fields: [String]) -> Substring? {
        for field in fields {
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

    /// Returns true if a request has a cookie with an old name, which one with the present name should replace.
    func isOld(_ fields: HeaderFields) -> Bool { sent(fields)?.oldName != nil }

    /// The fields that set the token in the browser for the lifetime of the session, or of a signed-in client's
    /// credential. A cookie with an old name is deleted if it is the token's: the cookie of another server stays.
    ///
    /// - Parameter replaced: the token that the new one replaces.
    func set(
        _ token: String, isSignedIn: Bool, for request: HeaderFields, replacing replaced: String? = nil
    ) -> [ResponseField] {
        let life = isSignedIn ? signedInLife : life
        let new = ResponseField("Set-Cookie", "\(name(for: request))=\(token)\(suffix); Max-Age=\(life)")
        guard let old = sent(request), let oldName = old.oldName, old.value == replaced ?? token else { return [new] }
        return [new, deletion(of: oldName)]
    }

    /// The field that deletes the cookie of a request.
    func clear(_ request: HeaderFields) -> ResponseField {
        deletion(of: sent(request)?.oldName ?? name(for: request))
    }

    private func deletion(of name: String) -> ResponseField {
        ResponseField("Set-Cookie", "\(name)=\(suffix); Max-Age=0")
    }
}
