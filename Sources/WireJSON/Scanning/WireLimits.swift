/// Bounds that a document is held to while it is read.
@usableFromInline
package struct WireLimits: Hashable, Sendable {
    /// The maximum nesting of arrays and objects; `[]` has depth 1. Decoding recurses once for each, so this bounds
    /// the stack as well: values above 512 count as 512.
    package var maximumDepth: Int

    /// Depth 128, which is also the most that ``WireJSON`` encodes.
    @usableFromInline
    package static let `default` = WireLimits()

    /// Bounds other than the default ones.
    package init(maximumDepth: Int = 128) {
        self.maximumDepth = min(maximumDepth, 512)
    }
}
