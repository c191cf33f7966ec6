/// The error of a patch that cannot be applied, or of an invalid text.
package struct DeltaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description without a full stop.
    package let description: String

    package init(_ description: String) { self.description = description }
}
