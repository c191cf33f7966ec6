/// A patch that cannot be applied, or a text that is none.
package struct DeltaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error as a sentence without its full stop.
    package let description: String

    package init(_ description: String) { self.description = description }
}
