import Locking

/// What a stream shows: asked for the next bytes whenever the socket has taken the last ones.
///
/// Its methods are called by one thread at a time, whichever calls `StreamHandle.wake` or the reactor's; none may
/// block. No lock of this layer is held meanwhile.
package protocol StreamSource: AnyObject, Sendable {
    /// The socket is ours and the response's head has been sent. Once, before the first `nextStep`; not if the client
    /// left earlier.
    func opened(_ stream: StreamHandle)

    /// What to do next. Called only after the kernel has taken every byte given earlier, so that what was given may
    /// then be marked as written.
    func nextStep() -> StreamStep

    /// Whether what the kernel has not taken yet must not be sent any more: the stream is cut off then. Asked before the rest
    /// of a step is written.
    var dropsUnsent: Bool { get }

    /// Nothing was written for the heartbeat's interval: bytes to write, or nil for none.
    func heartbeat() -> [UInt8]?

    /// The stream is as old as streams may be: it should finish soon. Once, on the reactor's thread, perhaps while another
    /// one is in `nextStep`.
    func aged()

    /// The stream is over and the source released. Exactly once, last; also when `opened` never came.
    func closed(_ reason: StreamEnd)
}

extension StreamSource {
    package var dropsUnsent: Bool { false }
}

/// Why a stream is over.
package enum StreamEnd: Sendable, Equatable {
    /// The source finished, or `StreamHandle.close` was called, and the kernel took every byte; or no body was due.
    case finished

    /// The client left, perhaps before the stream was opened.
    case peerClosed

    /// The socket took nothing for the write deadline.
    case writeDeadline

    /// The socket failed, could not be taken over, or the client kept sending on it.
    case error

    /// The server stopped and the stream had not ended within its grace.
    case shutdown
}
