/// What the thread that writes a stream is to do next: said by those who know what the stream shows, who know no socket,
/// to those who have the socket, who know no session.
public enum StreamStep: Sendable, Equatable {
    /// Write these, then ask again, at once if there are none.
    case write([UInt8])
    /// Write these; after them there is nothing until the stream is woken. Like `write` and `wait`, without being asked
    /// twice.
    case writeAll([UInt8])
    /// Ask again when the stream is woken.
    case wait
    /// Write these, then end the stream cleanly.
    case finish([UInt8])
}
