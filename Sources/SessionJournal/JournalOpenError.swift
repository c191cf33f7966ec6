/// An error that makes it impossible to open a journal.
public struct JournalOpenError: Error, Sendable, CustomStringConvertible {
    /// A sentence for an operator.
    public let description: String

    package init(_ description: String) { self.description = description }
}
