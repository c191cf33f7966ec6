/// The availability of a store.
public enum Availability: Sendable, Equatable {
    /// Nothing has come yet.
    case unknown
    /// Its state was shown. Whether it is the present one, ``RemoteServer/condition`` says.
    case shown
    /// The server disposed of the store; a new one is shown when there is one.
    case ended
    /// The user may not see it.
    case denied
    /// The server has no such feature, or nothing under its key.
    case missing
}
