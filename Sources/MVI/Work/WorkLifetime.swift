/// How long `Turn.observe` observes a sequence.
public enum WorkLifetime: Sendable, Equatable {
    /// While a stream shows the store, and for the grace period after the last one left.
    case whileWatched(grace: Duration = .seconds(5))
    /// Until the store's end, watched or not. The store stays in memory meanwhile.
    case store
}
