import Glibc

/// Drops unwanted bytes from a socket.
enum SocketInput {
    /// The result of reading.
    enum Result {
        /// This number of bytes, and no more for now.
        case discarded(Int)
        /// This number of bytes, and there may be more.
        case more(Int)
        /// The peer has closed its side, or the connection failed.
        case ended
    }

    /// Reads and drops available bytes without waiting, at most 64 KiB.
    static func discard(from descriptor: Int32) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            var total = 0
            while total < 65_536 {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count > 0 {
                    total += count
                } else if count == 0 {
                    return .ended
                } else if errno == EAGAIN {
                    return .discarded(total)
                } else if errno != EINTR {
                    return .ended
                }
            }
            return .more(total)
        }
    }
}
