import MicroHTTP
import Sessions

/// A session's stream as the HTTP layer takes it: asked for bytes when the socket has room, told of the end once.
final class StreamConnection: StreamSource {
    private let stream: SessionStream

    init(_ stream: SessionStream) { self.stream = stream }

    func opened(_ handle: StreamHandle) { stream.opened(handle) }

    func next() -> StreamStep {
        switch stream.next() {
        case .write(let bytes): .write(bytes)
        case .writeAll(let bytes): .writeAll(bytes)
        case .wait: .wait
        case .finish(let bytes): .finish(bytes)
        }
    }

    func heartbeat() -> [UInt8]? { stream.heartbeat() }

    func closed(_ reason: StreamEnd) { stream.closed() }
}

extension StreamHandle: StreamWaker {}
