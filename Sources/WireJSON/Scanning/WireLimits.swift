/// The limits for reading a document.
@usableFromInline
package struct WireLimits: Hashable, Sendable {
    /// The maximum number of nested arrays and objects; `[]` has depth 1. Decoding recurses for each level, so this
    /// also limits the stack. Values above 512 are treated as 512.
    package var maximumDepth: Int

    /// Depth 128: the limit of clients' values, and the maximum depth that ``WireJSON`` encodes.
    @usableFromInline
    package static let value = WireLimits(maximumDepth: 128)

    /// Depth 136: a document of the server, such as an export, contains values of depth 128.
    @usableFromInline
    package static let document = WireLimits(maximumDepth: 136)

    /// Creates limits.
    package init(maximumDepth: Int) {
        self.maximumDepth = min(maximumDepth, 512)
    }
}
