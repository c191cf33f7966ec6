/// The format of state changes that the server may send.
public enum DeltaFormat: String, Sendable, CaseIterable {
    /// JSON Patch, RFC 6902.
    case jsonPatch = "json-patch"
    /// JSON Merge Patch, RFC 7396.
    case mergePatch = "merge-patch"
}
