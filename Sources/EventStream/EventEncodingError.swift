/// Why an event was not written. Nothing of it is in the output then.
public enum EventEncodingError: Error, Hashable, Sendable {
    /// The part holds CR, LF or NUL: it would end its line early, or be ignored by every client.
    case forbiddenByte(Part)
    /// An empty event name, which clients take for `message`, or an empty id, which resets their last id.
    case empty(Part)
    /// A reconnection time below zero.
    case negativeRetry(Int)

    /// A part of what is written.
    public enum Part: String, Hashable, Sendable {
        /// The event's name.
        case event
        /// The event's id.
        case id
        /// The event's data.
        case data
        /// A comment's text.
        case comment
    }
}

extension EventEncodingError: CustomStringConvertible {
    /// What is wrong, for a log.
    public var description: String {
        switch self {
        case .forbiddenByte(let part):
            "The \(part.rawValue) of a server-sent event holds CR, LF or NUL; it must be one line of text."
        case .empty(let part):
            "The \(part.rawValue) of a server-sent event is empty; leave it out or give it a value."
        case .negativeRetry(let milliseconds):
            "A reconnection time of \(milliseconds) ms is below zero."
        }
    }
}
