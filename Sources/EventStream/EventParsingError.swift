/// Why a stream was given up.
public enum EventParsingError: Error, Hashable, Sendable {
    /// A line has more bytes than the parser was told to take.
    case lineTooLong(limit: Int)
    /// The data lines of one event have more bytes together than the parser was told to take.
    case eventTooLong(limit: Int)
}

extension EventParsingError: CustomStringConvertible {
    /// What happened, for a log.
    public var description: String {
        switch self {
        case .lineTooLong(let limit): "The event stream sent a line of more than \(limit) bytes."
        case .eventTooLong(let limit): "The event stream sent an event with more than \(limit) bytes of data."
        }
    }
}
