/// The storage for intents that wait for their answers, so that they survive the end of the app.
///
/// The next client with the storage sends them first, in their order and with their idempotency keys, if it has the same
/// session and their patience is not over by the wall clock. For one ``RemoteServer`` at a time. The text contains
/// intents, but no credential. The functions are called one at a time, from any thread.
public protocol PendingStorage: Sendable {
    /// Returns the text that was saved last; nil if there is none. Called once, when the client is created; its intents
    /// are sent after that.
    ///
    /// If it throws, the error is reported, and nothing is kept before the next client: the saved text stays.
    func load() async throws -> String?
    /// Saves a text in place of the last one, soon after each change. Errors are reported and ignored.
    func save(_ text: String) async throws
}
