import MicroHTTP

/// The fields that answers have in common, made once.
enum AnswerFields {
    static let noSniff = ResponseField("X-Content-Type-Options", "nosniff")
    /// Keeps browsers from loading a session's answer into a page of another origin, as a script or an image. Pages of listed
    /// origins are not concerned: they ask by CORS (https://fetch.spec.whatwg.org/#cross-origin-resource-policy-header).
    static let sameOrigin = ResponseField("Cross-Origin-Resource-Policy", "same-origin")
    private static let json = ResponseField("Content-Type", "application/json")
    private static let noStore = ResponseField("Cache-Control", "no-store")
    private static let bySession = ResponseField("Vary", sessionVary)

    /// The headers that a session's answers vary by.
    static let sessionVary = "Authorization, Cookie, Origin"
    static let intentVary = "Authorization, Cookie, Origin, Prefer"

    /// A session's JSON.
    static let session: [ResponseField] = [json, noStore, bySession, noSniff, sameOrigin]
    /// Nothing, of a session.
    static let sessionEmpty: [ResponseField] = [noStore, bySession, noSniff, sameOrigin]
    /// A state; `ETag` is added.
    static let state: [ResponseField] = [
        json, ResponseField("Cache-Control", "private, no-cache"), bySession, noSniff, sameOrigin,
    ]
    /// The answer to an intent, which depends on `Prefer` too.
    static let intent: [ResponseField] = [json, noStore, byPreference, noSniff, sameOrigin]
    static let intentEmpty: [ResponseField] = [noStore, byPreference, noSniff, sameOrigin]
    private static let byPreference = ResponseField("Vary", intentVary)

    /// A problem of a session, as it was kept.
    static let problem: [ResponseField] = [
        ResponseField("Content-Type", "application/problem+json"), noStore, byPreference, noSniff, sameOrigin,
    ]

    /// A stream's head. `X-Accel-Buffering` tells nginx to pass events on as they come.
    static let stream: [ResponseField] = [
        ResponseField("Content-Type", "text/event-stream; charset=utf-8"),
        ResponseField("Cache-Control", "no-store, no-transform"),
        ResponseField("Connection", "close"), ResponseField("X-Accel-Buffering", "no"), bySession, noSniff,
        sameOrigin,
    ]

    /// Returns the security headers of a document by its media type; none for types that run no scripts.
    static func security(of contentType: String) -> [ResponseField] {
        let type = contentType.drop { $0 == " " || $0 == "\t" }.prefix { !"; \t".contains($0) }.lowercased()
        if type == "text/html" || type == "application/xhtml+xml" { return pageSecurity }
        return type.hasSuffix("xml") ? imageSecurity : []
    }

    /// The security headers of a page: it loads from and sends to its own server only, appears in no frame, and sends
    /// no referrer.
    private static let pageSecurity: [ResponseField] = [
        ResponseField(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ResponseField("Referrer-Policy", "no-referrer"),
    ]

    /// For SVG and other XML, which can have scripts: none runs, also where a browser shows the file by itself.
    private static let imageSecurity = [
        ResponseField(
            "Content-Security-Policy",
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox")
    ]

    /// JSON that is everyone's and changes with the server's version.
    static let publicJSON: [ResponseField] = [json, ResponseField("Cache-Control", "no-cache"), noSniff]
    /// Nothing, of this moment.
    static let momentary: [ResponseField] = [noStore, noSniff]
    /// JSON that is true now.
    static let momentaryJSON: [ResponseField] = [json, noStore, noSniff]
}
