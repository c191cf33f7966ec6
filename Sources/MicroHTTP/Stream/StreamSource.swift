import Locking

/// The content of a stream, asked for the next bytes when the socket has accepted the last ones.
///
/// One thread at a time calls its methods: the reactor's or one that calls `StreamHandle.wake`. They must not block. No
/// lock of this module is held meanwhile.
package protocol StreamSource: AnyObject, Sendable {
    /// Called once before the first `nextStep`, after the response's head was sent and the socket was taken over. Not
    /// called if the client left earlier.
    func opened(_ stream: StreamHandle)

    /// Returns the next step. Called only after the kernel has accepted all earlier bytes, so that they may then be
    /// marked as written.
    func nextStep() -> StreamStep

    /// True if bytes that the kernel has not accepted yet must not be sent: the stream is cut off then. Read before the
    /// rest of a step is written.
    var dropsUnsent: Bool { get }

    /// Called if nothing was written for the heartbeat's interval. Returns bytes to write, or nil.
    func heartbeat() -> [UInt8]?

    /// Called once when the stream has reached its age limit and should finish soon. On the reactor's thread, possibly
    /// while another thread is in `nextStep`.
    func aged()

    /// Called exactly once, at the end, and also without `opened`. The source is released afterwards.
    func closed(_ reason: StreamEnd)
}

extension StreamSource {
    package var dropsUnsent: Bool { false }
}

/// The reason for a stream's end.
package enum StreamEnd: Sendable, Equatable {
    /// The source finished or `StreamHandle.close` was called, and the kernel accepted all bytes; or no body was due.
    case finished

    /// The client left, possibly before the stream was opened.
    case peerClosed

    /// The socket accepted nothing for the write deadline.
    case writeDeadline

    /// The socket failed or could not be taken over, or the client kept sending on it.
    case error

    /// The server stopped and the stream did not end within the grace.
    case shutdown
}
