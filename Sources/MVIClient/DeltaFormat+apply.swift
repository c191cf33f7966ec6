import JSONDelta

extension DeltaFormat {
    /// Returns the document after a patch of this format; nil if the patch cannot be applied.
    func apply(_ patch: [UInt8], to document: [UInt8]) -> [UInt8]? {
        switch self {
        case .jsonPatch: try? JSONPatch.apply(patch, to: document)
        case .mergePatch: try? MergePatch.apply(patch, to: document)
        }
    }
}
