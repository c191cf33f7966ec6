import MVI

/// The store of a feature that app and server share: its view state, intents and labels.
public typealias RemoteStoreOf<F: Feature> = RemoteStore<F.ViewState, F.Intent, F.Label>

extension RemoteServer {
    /// The store of a feature whose types the app shares with the server.
    ///
    /// Making one asks the server for nothing: ``RemoteStore/watch()`` does.
    ///
    /// - Parameter key: which of its instances, for a feature that is served under keys.
    public nonisolated func store<F: Feature>(of feature: F.Type, key: String? = nil) -> RemoteStoreOf<F> {
        RemoteStore(key.map { "\(F.name):\($0)" } ?? F.name, on: self)
    }
}
