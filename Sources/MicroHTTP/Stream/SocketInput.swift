import Glibc

/// How bytes that are not wanted are taken from a socket.
enum SocketInput {
    /// What was found.
    enum Result {
        /// So many bytes, and no more for now.
        case discarded(Int)
        /// So many bytes, and there may be more.
        case more(Int)
        /// The peer has closed its side, or the connection failed.
        case ended
    }

    /// Reads and drops what has arrived, without waiting, at most 64 KiB in one call.
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
