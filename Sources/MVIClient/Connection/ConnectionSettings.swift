/// The settings of a ``ClientConnection``.
struct ConnectionSettings: Sendable {
    /// The transport of a session's credential.
    enum CredentialForm: Sendable { case bearer, cookie }

    var credential = CredentialForm.bearer
    var delta: DeltaFormat?
    /// True if there is an identity callback.
    var hasIdentity = false
    /// The time for which an intent is retried.
    var patience = Duration.seconds(300)
    /// The maximum number of waiting intents.
    var queueLimit = 1_000
    /// The time limit of a request that is not a stream.
    var answerTime = Duration.seconds(30)
    /// Stores that are watched within this time open one stream.
    var gatherTime = Duration.milliseconds(5)
    /// The time before the first retry of what is no stream.
    var retryBase = Duration.seconds(1)
}
