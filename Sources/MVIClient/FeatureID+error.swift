import MVI

extension FeatureID {
    /// True if a text is an id. An id is a part of paths, and an app may take its key from a link, which must not lead to
    /// another resource.
    static func isValid(_ id: String) -> Bool { FeatureID(id) != nil }

    /// The error of an intent for what is no id.
    static func error(_ id: String) -> RemoteError {
        RemoteError(
            .invalidFeature,
            "\"\(id)\" is no store's id, such as \"counter\" or \"order:42\": a key has 1 to 64 of A-Z a-z 0-9 . _ ~ -")
    }
}
