import MicroHTTP

/// The fields that answers have in common, made once.
enum AnswerFields {
    static let noSniff = ResponseField("X-Content-Type-Options", "nosniff")
    private static let json = ResponseField("Content-Type", "application/json")
    private static let noStore = ResponseField("Cache-Control", "no-store")
    private static let bySession = ResponseField("Vary", sessionVary)

    /// What an answer of a session depends on, beside the path.
    static let sessionVary = "Authorization, Cookie, Origin"
    static let intentVary = "Authorization, Cookie, Origin, Prefer"

    /// A session's JSON.
    static let session: [ResponseField] = [json, noStore, bySession, noSniff]
    /// Nothing, of a session.
    static let sessionEmpty: [ResponseField] = [noStore, bySession, noSniff]
    /// A state; `ETag` is added.
    static let state: [ResponseField] = [json, ResponseField("Cache-Control", "private, no-cache"), bySession, noSniff]
    /// The answer to an intent, which depends on `Prefer` too.
    static let intent: [ResponseField] = [json, noStore, byPreference, noSniff]
    static let intentEmpty: [ResponseField] = [noStore, byPreference, noSniff]
    private static let byPreference = ResponseField("Vary", intentVary)

    /// A problem of a session, as it was kept.
    static let problem: [ResponseField] = [
        ResponseField("Content-Type", "application/problem+json"), noStore, byPreference, noSniff,
    ]

    /// A stream's head. `X-Accel-Buffering` tells nginx to pass events on as they come.
    static let stream: [ResponseField] = [
        ResponseField("Content-Type", "text/event-stream; charset=utf-8"),
        ResponseField("Cache-Control", "no-store, no-transform"),
        ResponseField("Connection", "close"), ResponseField("X-Accel-Buffering", "no"), bySession, noSniff,
    ]

    /// JSON that is everyone's and changes with the server's version.
    static let publicJSON: [ResponseField] = [json, ResponseField("Cache-Control", "no-cache"), noSniff]
    /// Nothing, of this moment.
    static let momentary: [ResponseField] = [noStore, noSniff]
    /// JSON that is true now.
    static let momentaryJSON: [ResponseField] = [json, noStore, noSniff]
}
