import Glibc

/// What each accepted connection gets.
enum SocketOptions {
    /// An event is small and must not wait for the next one: `TCP_NODELAY`. A peer that vanished without a word is
    /// found by `TCP_USER_TIMEOUT` (RFC 5482) while something is to be sent, by keep-alive probes otherwise.
    static func set(on descriptor: Int32, userTimeout: Duration) {
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(userTimeout.clampedMilliseconds))
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        let seconds = Int32(userTimeout.clampedSeconds)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, min(seconds, 32_767))
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, min(max(1, seconds / 4), 32_767))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
