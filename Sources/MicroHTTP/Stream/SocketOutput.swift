import Glibc

/// Writes to a socket without waiting.
enum SocketOutput {
    /// The result of a write.
    enum Result {
        /// The kernel accepted all bytes.
        case taken
        /// The kernel accepted some bytes; these are left, in their original storage.
        case left(ArraySlice<UInt8>)
        /// The connection is closed, or the socket failed.
        case failed(StreamEnd)
    }

    /// Writes `payload` framed for a stream, in one system call.
    ///
    /// A chunk is its size in hexadecimal, CRLF, its bytes, CRLF; one of size 0 and an empty line end the body (RFC
    /// 9112 section 7.1). Unframed payload is written as it is, and the connection's end is the body's.
    static func write(_ payload: [UInt8], to descriptor: Int32, framed: Bool, last: Bool) -> Result {
        guard framed else { return payload.isEmpty ? .taken : write(payload[...], to: descriptor) }
        let headCount = payload.isEmpty ? 0 : digitCount(payload.count) + 2
        let tail: StaticString = payload.isEmpty ? "0\r\n\r\n" : last ? "\r\n0\r\n\r\n" : "\r\n"
        let tailCount = payload.isEmpty && !last ? 0 : tail.utf8CodeUnitCount
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: headCount) { head in
            writeHead(of: payload.count, into: head)
            let sent = payload.withUnsafeBytes { payload in
                var parts = (
                    iovec(iov_base: head.baseAddress, iov_len: headCount),
                    iovec(iov_base: UnsafeMutableRawPointer(mutating: payload.baseAddress), iov_len: payload.count),
                    iovec(iov_base: UnsafeMutableRawPointer(mutating: tail.utf8Start), iov_len: tailCount)
                )
                return withUnsafeMutablePointer(to: &parts) { parts in
                    parts.withMemoryRebound(to: iovec.self, capacity: 3) { send($0, count: 3, to: descriptor) }
                }
            }
            let total = headCount + payload.count + tailCount
            guard sent < total else { return .taken }
            if sent < 0, let failure = failure() { return failure }
            let taken = max(0, sent)
            var rest: [UInt8] = []
            rest.reserveCapacity(total - taken)
            rest += head.dropFirst(taken)
            rest += payload.dropFirst(max(0, taken - headCount))
            rest += bytes(tail, tailCount).dropFirst(max(0, taken - headCount - payload.count))
            return .left(rest[...])
        }
    }

    /// Fills `head`, unless it is empty, with the size in hexadecimal and CRLF.
    private static func writeHead(of size: Int, into head: UnsafeMutableBufferPointer<UInt8>) {
        guard !head.isEmpty else { return }
        head.initialize(repeating: 0)
        var rest = size
        for place in (0..<(head.count - 2)).reversed() {
            let digit = UInt8(rest & 15)
            head[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
        head[head.count - 2] = 0x0D
        head[head.count - 1] = 0x0A
    }

    /// Returns the number of hexadecimal digits of a positive number.
    private static func digitCount(_ number: Int) -> Int { (Int.bitWidth - number.leadingZeroBitCount + 3) / 4 }

    /// Writes `bytes` unframed.
    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Result {
        let sent = bytes.withUnsafeBytes { buffer in
            var part = iovec(
                iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
            return send(&part, count: 1, to: descriptor)
        }
        guard sent >= 0 else { return failure() ?? .left(bytes) }
        return sent == bytes.count ? .taken : .left(bytes.dropFirst(sent))
    }

    /// `sendmsg`, since `writev` does not support `MSG_NOSIGNAL`.
    private static func send(_ parts: UnsafeMutablePointer<iovec>, count: Int, to descriptor: Int32) -> Int {
        var message = msghdr()
        message.msg_iov = parts
        message.msg_iovlen = count
        while true {
            let sent = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            if sent >= 0 || errno != EINTR { return sent }
        }
    }

    /// Returns the failure for `errno`, or nil if the socket is only full.
    private static func failure() -> Result? {
        switch errno {
        case EAGAIN, ENOBUFS: nil
        case EPIPE, ECONNRESET, ETIMEDOUT, ENOTCONN: .failed(.peerClosed)
        default: .failed(.error)
        }
    }

    private static func bytes(_ text: StaticString, _ count: Int) -> ArraySlice<UInt8> {
        UnsafeBufferPointer(start: text.utf8Start, count: count)[...].map { $0 }[...]
    }
}
