/// The format of a state's changes.
public enum DeltaFormat: String, Sendable, CaseIterable {
    /// RFC 6902.
    case jsonPatch = "json-patch"
    /// RFC 7396.
    case mergePatch = "merge-patch"
}
