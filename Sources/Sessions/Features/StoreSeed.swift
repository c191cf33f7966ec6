import MVI
import SessionJournal

/// What a store is made with.
@usableFromInline
struct StoreSeed: Sendable {
    @usableFromInline let environment: StoreEnvironment
    @usableFromInline let middleware: [any CommonMiddleware]
    /// The store as it was kept; nil for a new one.
    @usableFromInline let stored: StoredStore?
    /// Commits encoded turns to the session.
    @usableFromInline let commit: EncodingCommit
    @usableFromInline let stateLimit: Int
    /// Bytes of labels that a session keeps: a turn with more could never be delivered whole.
    @usableFromInline let outboxLimit: Int
}
