import Glibc

/// Creates the listening socket, so that a failure has an exact message.
enum ListenSocket {
    /// Returns a socket that listens on `host` and `port`, and its port. The caller owns it. `::` includes IPv4, and is
    /// IPv4 only if the kernel has no IPv6: so one setting is right for all machines.
    static func open(
        host: String, port: UInt16, hasIPv6: () -> Bool = hasIPv6
    ) throws(HTTPServerError) -> (descriptor: Int32, port: UInt16) {
        var v4 = in_addr()
        var v6 = in6_addr()
        let host = host == "::" && !hasIPv6() ? "0.0.0.0" : host
        if inet_pton(AF_INET, host, &v4) == 1 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = v4
            return try open(AF_INET, &address, host: host, port: port)
        }
        if inet_pton(AF_INET6, host, &v6) == 1 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = v6
            return try open(AF_INET6, &address, host: host, port: port)
        }
        throw HTTPServerError(
            .invalidConfiguration,
            "Cannot listen on \"\(host)\": it is not an IP address. Use an IPv4 or IPv6 address such as 127.0.0.1, ::1,"
                + " 0.0.0.0 or ::.")
    }

    /// False if the kernel was built or started without IPv6.
    static func hasIPv6() -> Bool {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        close(descriptor)
        return true
    }

    private static func open<Address>(
        _ family: Int32, _ address: inout Address, host: String, port: UInt16
    ) throws(HTTPServerError) -> (descriptor: Int32, port: UInt16) {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw failure("open a socket for", host, port) }
        var done = false
        defer { if !done { close(descriptor) } }

        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        var length = socklen_t(MemoryLayout<Address>.size)
        guard withSocketAddress(&address, { bind(descriptor, $0, length) }) == 0 else {
            throw failure("bind to", host, port)
        }
        guard listen(descriptor, 4096) == 0 else { throw failure("listen on", host, port) }
        guard withSocketAddress(&address, { getsockname(descriptor, $0, &length) }) == 0 else {
            throw failure("read the port of", host, port)
        }
        done = true
        // Both kinds of addresses have the port in the same place.
        let bound = withSocketAddress(&address) { pointer in
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
        return (descriptor, bound)
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func failure(_ verb: String, _ host: String, _ port: UInt16) -> HTTPServerError {
        let number = errno
        let reason = String(cString: strerror(number))
        switch number {
        case EADDRINUSE:
            return HTTPServerError(
                .addressInUse,
                "Cannot \(verb) \(host) port \(port): another process listens there. Stop it or choose another port.")
        case EACCES:
            return HTTPServerError(
                .cannotListen,
                "Cannot \(verb) \(host) port \(port): \(reason). Ports below 1024 need a privilege; choose a higher one."
            )
        case EADDRNOTAVAIL:
            return HTTPServerError(
                .cannotListen,
                "Cannot \(verb) \(host) port \(port): this machine has no such address. Use one of its own, or ::."
            )
        default:
            return HTTPServerError(.cannotListen, "Cannot \(verb) \(host) port \(port): \(reason).")
        }
    }
}

/// The options of accepted connections and streams.
enum SocketOptions {
    /// The number of unsent bytes that a stream's socket accepts.
    static let unsentLimit: Int32 = 64 * 1024

    /// Prevents old states from piling up in the kernel for a slow client: beyond the limit the socket accepts nothing
    /// (`TCP_NOTSENT_LOWAT`), and the stream continues with the newest state. Otherwise the kernel's buffer grows to
    /// several megabytes.
    static func limitUnsent(on descriptor: Int32) {
        if set(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentLimit) { return }
        // A Unix socket has no protocol below it; its buffer is all that is unsent.
        set(descriptor, SOL_SOCKET, SO_SNDBUF, unsentLimit)
    }

    /// Sends small events at once (`TCP_NODELAY`). Detects a silently lost peer by `TCP_USER_TIMEOUT` (RFC 5482) while
    /// bytes are unacknowledged, and otherwise by keep-alive probes.
    static func set(on descriptor: Int32, userTimeout: Duration) {
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(userTimeout.clampedMilliseconds))
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        let seconds = Int32(userTimeout.clampedSeconds)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, min(seconds, 32_767))
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, min(max(1, seconds / 4), 32_767))
    }

    @discardableResult
    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        var value = value
        return setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
}
