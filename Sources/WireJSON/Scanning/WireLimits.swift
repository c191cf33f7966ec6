/// Bounds that a document is held to while it is read.
public struct WireLimits: Hashable, Sendable {
    /// How many arrays and objects may lie inside each other; `[]` has depth 1. Decoding recurses once for each, so
    /// this bounds the stack as well: values above 512 are taken as 512.
    public var maximumDepth: Int

    /// Depth 128, which is also the most that ``WireJSON`` encodes.
    public static let `default` = WireLimits()

    /// Bounds other than the default ones.
    public init(maximumDepth: Int = 128) {
        self.maximumDepth = min(maximumDepth, 512)
    }
}
