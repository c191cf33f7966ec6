/// Why a journal cannot be opened at all.
public struct JournalOpenError: Error, Sendable, CustomStringConvertible {
    /// A sentence for an operator.
    public let description: String

    package init(_ description: String) { self.description = description }
}
