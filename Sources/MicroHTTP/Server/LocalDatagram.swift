import Glibc

/// A datagram socket of another local process, to which texts are sent (unix(7)).
package struct LocalDatagramAddress: Sendable {
    /// The time for which `send` waits for a receiver that accepts nothing.
    private static let patience = timeval(tv_sec: 1, tv_usec: 0)

    private let address: sockaddr_un
    private let length: socklen_t

    /// An address in the format of sd_notify(3): an absolute path, or `@` and a name in Linux's abstract namespace.
    ///
    /// - Throws: `LocalDatagramError` for an invalid address, or one that is too long.
    package init(_ text: String) throws(LocalDatagramError) {
        var bytes = Array(text.utf8)
        switch bytes.first {
        // With the NUL that ends a path.
        case UInt8(ascii: "/"): bytes.append(0)
        // A name begins with NUL and ends with the address.
        case UInt8(ascii: "@"): bytes[0] = 0
        default: throw LocalDatagramError("it is neither a path that begins with / nor a name that begins with @")
        }
        let room = sockaddr_un.room
        guard bytes.count > 1 else { throw LocalDatagramError("it has no name") }
        guard bytes.count <= room else {
            throw LocalDatagramError("it is too long: \(bytes.count) bytes, and the limit is \(room)")
        }
        (address, length) = sockaddr_un.with(bytes)
    }

    /// Sends one datagram. Blocks for at most a second if the receiver accepts nothing.
    ///
    /// - Throws: `LocalDatagramError` if it was not sent: the socket is missing, or the receiver accepts nothing.
    package func send(_ text: String) throws(LocalDatagramError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw LocalDatagramError("no socket could be created", errno) }
        defer { close(descriptor) }
        var patience = Self.patience
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(text.utf8)
        let (count, number) = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                var count: Int
                repeat {
                    count = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
                } while count < 0 && errno == EINTR
                return (count, errno)
            }
        }
        guard count == bytes.count else { throw LocalDatagramError("the message could not be sent", number) }
    }
}

/// An error of sending a datagram.
package struct LocalDatagramError: Error, CustomStringConvertible {
    package let description: String

    init(_ reason: String) { description = reason }

    init(_ reason: String, _ number: Int32) { description = "\(reason) (errno \(number))" }
}
