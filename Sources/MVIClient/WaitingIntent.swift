/// An intent that waits for its answer; see ``RemoteServer/pending``.
public struct WaitingIntent: Sendable, Hashable, Identifiable {
    /// The intent's idempotency key, which is the same for all attempts.
    public let id: String
    /// The id of its store's feature, with the key if there is one.
    public let feature: String
    /// The intent as JSON.
    public let intent: String
}
