/// Why a journal did not do what it was asked for: nothing of it is kept.
public struct JournalFailure: Error, Sendable, Hashable {
    /// What is the matter.
    public enum Code: Sendable, Hashable {
        /// It cannot be read or written now.
        case unavailable
        /// Its medium is full.
        case full
        /// The session is gone.
        case gone
        /// There is such a session already.
        case exists
        /// It was closed.
        case closed
        /// What was to be kept cannot be, however often it is tried.
        case invalid
    }

    /// What is the matter.
    public let code: Code
    /// A sentence for an operator.
    public let detail: String

    /// A failure with a sentence about it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

extension JournalFailure: CustomStringConvertible {
    /// The sentence.
    public var description: String { detail }
}
