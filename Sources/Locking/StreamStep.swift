/// The next step of the thread that writes a stream. It separates the content of a stream from its socket.
public enum StreamStep: Sendable, Equatable {
    /// Write these bytes, then ask again; at once if there are none.
    case write([UInt8])
    /// Write these bytes; there are no others until the stream is woken. Combines `write` and `wait` in one step.
    case writeAll([UInt8])
    /// Ask again when the stream is woken.
    case wait
    /// Write these bytes, then end the stream cleanly.
    case finish([UInt8])
}
