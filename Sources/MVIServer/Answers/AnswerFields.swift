/// The fields that answers have in common, made once.
enum AnswerFields {
    typealias Fields = [(name: String, value: String)]

    static let noSniff: (name: String, value: String) = ("X-Content-Type-Options", "nosniff")
    private static let json: (name: String, value: String) = ("Content-Type", "application/json")
    private static let noStore: (name: String, value: String) = ("Cache-Control", "no-store")
    private static let bySession: (name: String, value: String) = ("Vary", sessionVary)

    /// What an answer of a session depends on, beside the path.
    static let sessionVary = "Authorization, Cookie, Origin"
    static let intentVary = "Authorization, Cookie, Origin, Prefer"

    /// A session's JSON.
    static let session: Fields = [json, noStore, bySession, noSniff]
    /// Nothing, of a session.
    static let sessionEmpty: Fields = [noStore, bySession, noSniff]
    /// A state; `ETag` is added.
    static let state: Fields = [json, ("Cache-Control", "private, no-cache"), bySession, noSniff]
    /// The answer to an intent, which depends on `Prefer` too.
    static let intent: Fields = [json, noStore, byPreference, noSniff]
    static let intentEmpty: Fields = [noStore, byPreference, noSniff]
    private static let byPreference: (name: String, value: String) = ("Vary", intentVary)

    /// A problem of a session, as it was kept.
    static let problem: Fields = [("Content-Type", "application/problem+json"), noStore, byPreference, noSniff]

    /// A stream's head. `X-Accel-Buffering` tells nginx to pass events on as they come.
    static let stream: Fields = [
        ("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-store, no-transform"),
        ("Connection", "close"), ("X-Accel-Buffering", "no"), bySession, noSniff,
    ]

    /// JSON that is everyone's and changes with the server's version.
    static let publicJSON: Fields = [json, ("Cache-Control", "no-cache"), noSniff]
    /// JSON that is true now.
    static let momentaryJSON: Fields = [json, noStore, noSniff]
}
