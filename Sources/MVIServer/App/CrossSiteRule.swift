import MicroHTTP

/// Keeps pages of other sites from acting with a user's cookie, and from acting at all unless they are on the list.
///
/// Browsers say where a request comes from, in `Sec-Fetch-Site` and `Origin`, and let no page forge either. A request
/// that has neither comes from no browser.
struct CrossSiteRule: Sendable {
    let publicURL: Origin?
    let allowedOrigins: Set<String>

    init(publicURL: Origin?, allowedOrigins: [Origin]) {
        self.publicURL = publicURL
        self.allowedOrigins = Set(allowedOrigins.map(\.text))
    }

    /// The request's `Origin` if it is on the list, for CORS.
    func listedOrigin(_ fields: HeaderFields) -> String? {
        guard !allowedOrigins.isEmpty, let origin = fields["origin"], allowedOrigins.contains(origin) else {
            return nil
        }
        return origin
    }

    func check(_ fields: HeaderFields) throws(Problem) {
        if listedOrigin(fields) != nil { return }
        if let site = fields["sec-fetch-site"] {
            guard site == "same-origin" || site == "none" else {
                throw Problem(.crossSite, "The browser says that the request's `Sec-Fetch-Site` is another site's.")
            }
            return
        }
        guard let text = fields["origin"] else { return }
        guard let origin = Origin(setting: text), isOwn(origin, host: fields["host"]) else {
            throw Problem(.crossSite, "The request's `Origin` is neither the server's own nor on its list.")
        }
    }

    /// A stream that answers a navigation would show a page of another site the session's states.
    func checkStream(_ fields: HeaderFields) throws(Problem) {
        try check(fields)
        if fields["sec-fetch-mode"] == "navigate" {
            throw Problem(.crossSite, "A stream with a cookie cannot be opened by navigating to it.")
        }
    }

    private func isOwn(_ origin: Origin, host: String?) -> Bool {
        if let publicURL { return origin == publicURL }
        // Whatever terminates TLS in front of the server, the browser's `Host` is the page's if it is ours.
        return host.flatMap { Origin(setting: (origin.isSecure ? "https://" : "http://") + $0) } == origin
    }
}
