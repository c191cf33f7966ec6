import Glibc
import Locking

/// A connection that libmicrohttpd has released while its client may still be sending.
///
/// Closing a socket with unread bytes resets the connection, which can destroy a response that the client has not read
/// yet. So the response is written, our side is shut, and input is dropped until the client closes too (RFC 9112
/// section 9.6), within limits of bytes and time.
final class LingeringSocket: ReactorMember {
    private static let byteLimit = 16 * 1024 * 1024
    private static let timeLimit: UInt64 = 5_000_000_000

    private struct State {
        var id: UInt64 = 0
        var lastWords: ArraySlice<UInt8>
        var discarded = 0
        var isShut = false
        var isClosed = false
    }

    private let descriptor: Int32
    private let thread: ReactorThread
    /// Locked only for the counts: after `start` everything happens on the reactor's thread.
    private let state: Lock<State>

    /// Takes ownership of `descriptor`; `lastWords` are the bytes still to be sent.
    init(descriptor: Int32, lastWords: [UInt8], thread: ReactorThread) {
        self.descriptor = descriptor
        self.thread = thread
        state = Lock(State(lastWords: lastWords[...]))
    }

    /// Gives the socket to the reactor.
    func start() {
        let id = thread.add(self, .linger, deadline: monotonicNow() + Self.timeLimit)
        state.withLock { $0.id = id }
        if !thread.watch(descriptor, for: id) { close() }
    }

    func ready(_ events: SocketEvents) { run() }

    func timeReached(_ now: UInt64) -> UInt64? {
        close()
        return nil
    }

    func dismissed() { close() }

    func run() {
        let (lastWords, isShut, isClosed) = state.withLock { ($0.lastWords, $0.isShut, $0.isClosed) }
        guard !isClosed else { return }
        if !isShut, !speak(lastWords) { return }
        drain()
    }

    /// Returns true after all bytes are written and our side is shut.
    private func speak(_ words: ArraySlice<UInt8>) -> Bool {
        switch words.isEmpty ? .taken : SocketOutput.write(words, to: descriptor) {
        case .failed:
            close()
            return false
        case .left(let rest):
            state.withLock { $0.lastWords = rest }
            return false
        case .taken:
            state.withLock { state in
                state.lastWords = []
                state.isShut = true
            }
            shutdown(descriptor, Int32(SHUT_WR))
            return true
        }
    }

    private func drain() {
        let count: Int
        var again = false
        switch SocketInput.discard(from: descriptor) {
        case .ended: return close()
        case .discarded(let bytes): count = bytes
        case .more(let bytes):
            count = bytes
            again = true
        }
        let (total, id) = state.withLock { state in
            state.discarded += count
            return (state.discarded, state.id)
        }
        if total > Self.byteLimit { return close() }
        if again { _ = thread.enqueue(id) }
    }

    private func close() {
        let id = state.withLock { state -> UInt64? in
            defer { state.isClosed = true }
            return state.isClosed ? nil : state.id
        }
        guard let id else { return }
        thread.unwatch(descriptor)
        Glibc.close(descriptor)
        thread.remove(id)
    }
}
