/// The settings of a ``ClientConnection``.
struct ConnectionSettings: Sendable {
    /// The form in which a session's credential is sent.
    enum CredentialForm: Sendable { case bearer, cookie }

    var credential = CredentialForm.bearer
    var delta: DeltaFormat?
    /// The locale and the time zone to tell the server.
    var locale: String?
    var timeZone: String?
    /// True if there is an identity callback.
    var hasIdentity = false
    /// The time after which an intent is abandoned.
    var patience = Duration.seconds(300)
    /// The maximum number of waiting intents.
    var queueLimit = 1_000
    /// True if waiting intents are kept in a storage.
    var keepsIntents = false
    /// The time limit of a request other than a stream.
    var answerTime = Duration.seconds(30)
    /// The time in which watched stores are gathered into one stream.
    var gatherTime = Duration.milliseconds(5)
    /// The delay before the first retry of a request other than a stream.
    var retryBase = Duration.milliseconds(500)
}
