/// What a ``ClientConnection`` is made with.
struct ConnectionSettings: Sendable {
    /// How a session's credential travels.
    enum CredentialForm: Sendable { case bearer, cookie }

    var credential = CredentialForm.bearer
    var delta: DeltaFormat?
    /// Whether there is an identity callback.
    var hasIdentity = false
    /// How long an intent is tried.
    var patience = Duration.seconds(300)
    /// How many intents may wait.
    var queueLimit = 1_000
    /// How long a request may take that is no stream.
    var answerTime = Duration.seconds(30)
    /// Stores that are watched within this time open one stream.
    var gatherTime = Duration.milliseconds(5)
    /// The time before the first retry of what is no stream.
    var retryBase = Duration.seconds(1)
}
