/// How a store begins.
public enum Life: Sendable, Equatable {
    /// With the feature's initial state.
    case new
    /// With the state that an earlier life left.
    case restored
}
