import MVI

/// The store of a feature that the app shares with the server: its view state, intents and labels.
public typealias RemoteStoreOf<F: Feature> = RemoteStore<F.ViewState, F.Intent, F.Label>

extension RemoteServer {
    /// Returns the store of a feature whose types the app shares with the server.
    ///
    /// This sends no request; ``RemoteStore/watch()`` does.
    ///
    /// - Parameters:
    ///   - key: the key of the instance, for a keyed feature: 1 to 64 of `A-Z a-z 0-9 . _ ~ -`.
    ///   - predict: as for ``RemoteStore``.
    public nonisolated func store<F: Feature>(
        of feature: F.Type, key: String? = nil,
        predict: (@Sendable (inout F.ViewState, F.Intent) throws -> Void)? = nil
    ) -> RemoteStoreOf<F> {
        RemoteStore(key.map { "\(F.name):\($0)" } ?? F.name, on: self, predict: predict)
    }
}
