/// The limits for reading a document.
@usableFromInline
package struct WireLimits: Hashable, Sendable {
    /// The maximum number of nested arrays and objects; `[]` has depth 1. Decoding recurses for each level, so this
    /// also limits the stack. Values above 512 are treated as 512.
    package var maximumDepth: Int

    /// Depth 128, which is also the maximum depth that ``WireJSON`` encodes.
    @usableFromInline
    package static let `default` = WireLimits()

    /// Creates limits.
    package init(maximumDepth: Int = 128) {
        self.maximumDepth = min(maximumDepth, 512)
    }
}
