import JSONDelta

extension DeltaFormat {
    /// A document after a patch of this format; nil if the patch does not fit it.
    func apply(_ patch: [UInt8], to document: [UInt8]) -> [UInt8]? {
        switch self {
        case .jsonPatch: try? JSONPatch.apply(patch, to: document)
        case .mergePatch: try? MergePatch.apply(patch, to: document)
        }
    }
}
