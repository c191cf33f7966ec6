/// Bounds that a document is held to while it is read.
@usableFromInline
package struct WireLimits: Hashable, Sendable {
    /// How many arrays and objects may lie inside each other; `[]` has depth 1. Decoding recurses once for each, so
    /// this bounds the stack as well: values above 512 are taken as 512.
    package var maximumDepth: Int

    /// Depth 128, which is also the most that ``WireJSON`` encodes.
    @usableFromInline
    package static let `default` = WireLimits()

    /// Bounds other than the default ones.
    package init(maximumDepth: Int = 128) {
        self.maximumDepth = min(maximumDepth, 512)
    }
}
