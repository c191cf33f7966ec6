import MicroHTTP

/// The common header fields of answers, created once.
enum AnswerFields {
    static let noSniff = ResponseField("X-Content-Type-Options", "nosniff")
    /// Prevents browsers from loading a session's answer into another origin's page as a script or image. Listed
    /// origins use CORS and are not affected (https://fetch.spec.whatwg.org/#cross-origin-resource-policy-header).
    static let sameOrigin = ResponseField("Cross-Origin-Resource-Policy", "same-origin")
    /// For all answers of the admin port.
    static let isolated = [sameOrigin, ResponseField("Cross-Origin-Opener-Policy", "same-origin")]
    private static let json = ResponseField("Content-Type", "application/json")
    private static let noStore = ResponseField("Cache-Control", "no-store")
    private static let bySession = ResponseField("Vary", sessionVary)

    /// The request fields that an answer of a session depends on.
    static let sessionVary = "Authorization, Cookie, Origin"
    static let intentVary = "Authorization, Cookie, Origin, Prefer"

    /// For a session's JSON.
    static let session: [ResponseField] = [json, noStore, bySession, noSniff, sameOrigin]
    /// For an empty answer of a session.
    static let sessionEmpty: [ResponseField] = [noStore, bySession, noSniff, sameOrigin]
    /// For a state; `ETag` is added.
    static let state: [ResponseField] = [
        json, ResponseField("Cache-Control", "private, no-cache"), bySession, noSniff, sameOrigin,
    ]
    /// For a state that may lack the results of observations.
    static let stale = ResponseField("MVI-Stale", "true")
    /// For the answer to an intent, which also depends on `Prefer`.
    static let intent: [ResponseField] = [json, noStore, byPreference, noSniff, sameOrigin]
    static let intentEmpty: [ResponseField] = [noStore, byPreference, noSniff, sameOrigin]
    private static let byPreference = ResponseField("Vary", intentVary)

    /// For a stored problem of a session.
    static let problem: [ResponseField] = [
        ResponseField("Content-Type", "application/problem+json"), noStore, byPreference, noSniff, sameOrigin,
    ]

    /// For a stream. `X-Accel-Buffering` makes nginx forward events at once.
    static let stream: [ResponseField] = [
        ResponseField("Content-Type", "text/event-stream; charset=utf-8"),
        ResponseField("Cache-Control", "no-store, no-transform"),
        ResponseField("Connection", "close"), ResponseField("X-Accel-Buffering", "no"), bySession, noSniff,
        sameOrigin,
    ]

    /// Returns the security fields for a media type; none for types without scripts.
    static func security(of contentType: String) -> [ResponseField] {
        let type = contentType.drop { $0 == " " || $0 == "\t" }.prefix { !"; \t".contains($0) }.lowercased()
        if type == "text/html" || type == "application/xhtml+xml" { return pageSecurity }
        return type.hasSuffix("xml") ? imageSecurity : []
    }

    /// Restricts a page to its own server, forbids frames, and hides the referrer from other sites.
    private static let pageSecurity: [ResponseField] = [
        ResponseField(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ResponseField("Referrer-Policy", "no-referrer"),
    ]

    /// Forbids scripts in SVG and other XML, also if a browser shows the file by itself.
    private static let imageSecurity = [
        ResponseField(
            "Content-Security-Policy",
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox")
    ]

    /// For public JSON that changes with the server's version.
    static let publicJSON: [ResponseField] = [json, ResponseField("Cache-Control", "no-cache"), noSniff]
    /// For an empty answer that must not be stored.
    static let momentary: [ResponseField] = [noStore, noSniff]
    /// For lines of JSON that must not be stored.
    static let momentaryLines: [ResponseField] = [
        ResponseField("Content-Type", "application/x-ndjson"), noStore, noSniff,
    ]
    /// For JSON that must not be stored.
    static let momentaryJSON: [ResponseField] = [json, noStore, noSniff]
}
