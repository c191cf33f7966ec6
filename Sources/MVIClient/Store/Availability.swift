/// The availability of a store.
public enum Availability: Sendable, Equatable {
    /// Nothing was received yet.
    case unknown
    /// A state was shown. See ``RemoteServer/condition`` for whether it is current.
    case shown
    /// The app's type cannot read the newest state, since the app is older than the server. The last readable state stays,
    /// without predictions; see ``RemoteStore/failure``.
    case outdated
    /// The server disposed of the store. If there is a new one, it is shown.
    case ended
    /// The user may not see the store.
    case denied
    /// The server has no such feature, or nothing under its key.
    case missing
}
