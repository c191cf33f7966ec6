/// The lifetime of a feature's stores in the session of a subject, and of shared stores. In an anonymous session they live as
/// long as that.
public enum Life: Sendable, Hashable {
    /// As long as the session. A shared store ends after 90 unused days, or after the longest life of another shared feature.
    case session
    /// This number of days after the last turn, read or stream, which are noted once a day; reminders keep a store alive.
    /// Then the store is disposed of, and the next use creates a new one.
    case unused(days: Int)
}
