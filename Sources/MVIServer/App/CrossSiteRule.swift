import MicroHTTP

/// Refuses requests of other sites' pages, unless their origin is on the list. They could act with a user's cookie.
///
/// Browsers report the page in `Sec-Fetch-Site` and `Origin`, which pages cannot forge. A request without both does not
/// come from a browser.
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
                throw Problem(.crossSite, "The request's `Sec-Fetch-Site` names another site.")
            }
            return
        }
        guard let text = fields["origin"] else { return }
        guard let origin = Origin(setting: text), isOwn(origin, host: fields["host"]) else {
            throw Problem(.crossSite, "The request's `Origin` is neither the server's own nor allowed.")
        }
    }

    /// Refuses streams that answer a navigation: they would show the session's states to another site's page.
    func checkStream(_ fields: HeaderFields) throws(Problem) {
        try check(fields)
        if fields["sec-fetch-mode"] == "navigate" {
            throw Problem(.crossSite, "A navigation cannot open a stream with a cookie.")
        }
    }

    private func isOwn(_ origin: Origin, host: String?) -> Bool {
        if let publicURL { return origin == publicURL }
        // A proxy may terminate TLS. The browser's `Host` is the page's if the page is the server's own.
        return host.flatMap { Origin(setting: (origin.isSecure ? "https://" : "http://") + $0) } == origin
    }
}
