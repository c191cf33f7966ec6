/// The lifetime of a feature's stores in the session of a subject. In an anonymous session they live as long as that.
public enum Life: Sendable, Hashable {
    /// As long as the session.
    case session
    /// This number of days after the last turn, read or stream, which are noted once a day; reminders keep a store alive.
    /// Then the store is disposed of, and the next use creates a new one.
    case unused(days: Int)
}
