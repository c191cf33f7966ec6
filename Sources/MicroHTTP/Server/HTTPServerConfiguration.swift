import Glibc
import Networks

/// The address and the limits of an `HTTPServer`.
package struct HTTPServerConfiguration: Sendable {
    /// The address to listen on: an IPv4 or IPv6 literal, `0.0.0.0` or `::` for every interface (`::` includes IPv4).
    /// Default `127.0.0.1`.
    package var host: String

    /// The port to listen on, 0 for any free one. Default 0; `HTTPServer.port` has the bound one.
    package var port: UInt16

    /// A Unix socket to listen on too; nil for none. Default nil.
    package var unixSocket: UnixSocket?

    /// The number of threads that parse requests and run the handler, at least 1. Default: one per active core.
    package var threads: Int

    /// The largest size of request line and fields in bytes, at least 1 KiB; beyond, 431. Default 16 KiB.
    ///
    /// Each connection has 8 KiB more than this as its memory, which also contains the response's head.
    package var headLimit: Int

    /// The largest size of a body in bytes; beyond, 413. A verdict may lower it for one request. Default 1 MiB.
    package var bodyLimit: Int

    /// The largest number of served connections, without streams; others wait in the listen queue. Default 8,192.
    package var connectionLimit: Int

    /// The largest number of connections of one address, or of one IPv6 network of 64 bits; beyond, 429 and close.
    /// Default: all.
    package var connectionsPerAddress: Int

    /// Addresses without that limit, such as proxies. Default: none.
    package var isExempt: @Sendable (PeerAddress) -> Bool

    /// The largest size of all requests' bodies together in bytes, a quarter of it for one address. The first
    /// `smallBody` bytes of each body are free; a body that does not fit is 503. Default 64 MiB.
    package var bodyBudget: Int

    /// The size that each body may have in any case, so that large bodies cannot block small requests.
    static let smallBody = 16 * 1024

    /// The time from a request's first byte to its head's end. Default 15 s, which is also the maximum.
    package var headTimeout: Duration

    /// The time from the head's end to the body's end; beyond, 408. Default 30 s.
    package var bodyTimeout: Duration

    /// The time for which an answered connection may wait for its next request. Default 60 s.
    package var idleTimeout: Duration

    /// The time for which a `BodyHandler` may leave a request unanswered; beyond, 503. Default 60 s.
    package var answerTimeout: Duration

    /// The time from a response's start until the client has received it, except streams; then the connection is cut.
    /// Default 5 min.
    package var writeTimeout: Duration

    /// `TCP_USER_TIMEOUT`: the time for which sent bytes may stay unacknowledged. Default 60 s.
    package var tcpUserTimeout: Duration

    /// The time for which a stream's socket may accept nothing of the waiting bytes. Default 60 s.
    package var streamWriteDeadline: Duration

    /// The time without output, give or take 10 %, after which a stream is asked for a heartbeat. Default 20 s.
    package var heartbeat: Duration

    /// The age, or up to a fifth less, at which a stream is told to end; nil for none. Default nil.
    package var streamAge: Duration?

    /// The defaults, with `host` and `port`.
    package init(host: String = "127.0.0.1", port: UInt16 = 0) {
        self.host = host
        self.port = port
        unixSocket = nil
        threads = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        headLimit = 16 * 1024
        bodyLimit = 1024 * 1024
        connectionLimit = 8192
        connectionsPerAddress = .max
        isExempt = { _ in false }
        bodyBudget = 64 * 1024 * 1024
        headTimeout = .seconds(15)
        bodyTimeout = .seconds(30)
        idleTimeout = .seconds(60)
        answerTimeout = .seconds(60)
        writeTimeout = .seconds(300)
        tcpUserTimeout = .seconds(60)
        streamWriteDeadline = .seconds(60)
        heartbeat = .seconds(20)
    }
}

/// An error at the start of a server.
package struct HTTPServerError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure. More may be added.
    package struct Code: Hashable, Sendable {
        private enum Value { case invalidConfiguration, addressInUse, cannotListen, cannotHandOver, alreadyStarted }
        private let value: Value

        /// A field of the configuration is invalid.
        package static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// Another process listens on the address.
        package static let addressInUse = Code(value: .addressInUse)
        /// The system refused the socket, or the library did not start.
        package static let cannotListen = Code(value: .cannotListen)
        /// This libmicrohttpd does not leave a handed-over socket open.
        package static let cannotHandOver = Code(value: .cannotHandOver)
        /// `start` was called before.
        package static let alreadyStarted = Code(value: .alreadyStarted)
    }

    /// The kind of failure.
    package let code: Code

    /// The problem, the expectation and advice, for a person.
    package let message: String

    /// The message.
    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// A server's counts at one moment, for tests, leak checks and metrics.
package struct HTTPServerStatistics: Sendable, Equatable {
    /// Connections in libmicrohttpd, including idle ones, without streams.
    package var openConnections = 0

    /// Requests in progress, including waiting ones.
    package var openRequests = 0

    /// Requests that wait for `Exchange.respond`.
    package var waitingExchanges = 0

    /// Streams in the reactor.
    package var openStreams = 0

    /// Sockets kept briefly so that a refusal reaches a client that was still sending.
    package var lingeringSockets = 0

    /// All zero.
    package init() {}
}
