/// A kind of use of a feature's store that an access rule is asked about.
public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Reading the state, waiting for it, a stream, and a read by another store's turn.
    case read
    /// Sending an intent, also by another store's turn or by a step of launched work.
    case send
    /// Disposing of the store.
    case dispose
}
