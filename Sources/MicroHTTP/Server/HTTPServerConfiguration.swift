import Glibc
import Networks

/// How an `HTTPServer` listens, and what it bears.
package struct HTTPServerConfiguration: Sendable {
    /// Address to listen on: an IPv4 or IPv6 literal, `0.0.0.0` and `::` for every interface (`::` takes IPv4 too).
    /// Default `127.0.0.1`.
    package var host: String

    /// Port to listen on, 0 for any free one. Default 0; `HTTPServer.port` has the one that was bound.
    package var port: UInt16

    /// Threads that parse requests and run the handler. Default: one per active core. At least 1.
    package var threads: Int

    /// Bytes of request line and fields together; more is 431. Default 16 KiB. At least 1 KiB.
    ///
    /// Each connection has twice this as its memory, which also holds the response's head.
    package var headLimit: Int

    /// Bytes of a request body; more is 413. A verdict may lower it for one request. Default 1 MiB.
    package var bodyLimit: Int

    /// Connections that are served at once, streams not counted; more of them wait in the listen queue. Default 8,192.
    package var connectionLimit: Int

    /// How many of them one address may have, or one network of 64 bits in IPv6; one more gets 429 and an end. Default:
    /// all.
    package var connectionsPerAddress: Int

    /// Addresses for which that does not hold: those of proxies. Default: none.
    package var isExempt: @Sendable (PeerAddress) -> Bool

    /// Bytes that all requests' bodies together may hold, those of one address a quarter of it. Of each the first
    /// `smallBody` bytes are free; a body for which there is no room is 503. Default 64 MiB.
    package var bodyBudget: Int

    /// What each body may hold whatever the others do: so many that no one can keep small requests out.
    static let smallBody = 16 * 1024

    /// From a request's first byte to its head's end. Default 15 s, which is also the most.
    package var headTimeout: Duration

    /// From the head's end to the body's end; then 408. Default 30 s.
    package var bodyTimeout: Duration

    /// For how long an answered connection may wait for its next request. Default 60 s.
    package var idleTimeout: Duration

    /// For how long a `BodyHandler` may leave a request unanswered; then 503. Default 60 s.
    package var answerTimeout: Duration

    /// From an answer's beginning until the client has taken it, streams apart; then the connection is cut. Default
    /// 5 min.
    package var writeTimeout: Duration

    /// `TCP_USER_TIMEOUT`: for how long sent bytes may stay unacknowledged. Default 60 s.
    package var tcpUserTimeout: Duration

    /// For how long a stream's socket may take nothing of what waits to be written. Default 60 s.
    package var streamWriteDeadline: Duration

    /// A stream on which nothing was written for this long, give or take 10 %, is asked for a heartbeat.
    /// Default 20 s.
    package var heartbeat: Duration

    /// A stream as old as this, or up to a fifth less, is told to end; nil for none. Default nil.
    package var streamAge: Duration?

    /// The defaults, listening on `host` and `port`.
    package init(host: String = "127.0.0.1", port: UInt16 = 0) {
        self.host = host
        self.port = port
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

/// Why a server did not start.
package struct HTTPServerError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure. More may come.
    package struct Code: Hashable, Sendable {
        private enum Value { case invalidConfiguration, addressInUse, cannotListen, cannotHandOver, alreadyStarted }
        private let value: Value

        /// A field of the configuration cannot be used.
        package static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// Another process listens there.
        package static let addressInUse = Code(value: .addressInUse)
        /// The system refused the socket, or the library refused to start.
        package static let cannotListen = Code(value: .cannotListen)
        /// This libmicrohttpd does not let a handed-over socket live.
        package static let cannotHandOver = Code(value: .cannotHandOver)
        /// `start` was called before.
        package static let alreadyStarted = Code(value: .alreadyStarted)
    }

    /// The kind of failure.
    package let code: Code

    /// What happened, what was expected and what to do about it, for a person.
    package let message: String

    /// The message.
    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// What a server holds at one moment: for tests, leak checks and metrics.
package struct HTTPServerStatistics: Sendable, Equatable {
    /// Connections that libmicrohttpd has, idle ones included, streams not.
    package var openConnections = 0

    /// Requests begun and not yet completed, the suspended ones included.
    package var openRequests = 0

    /// Requests that wait suspended for `Exchange.respond`.
    package var suspendedExchanges = 0

    /// Streams that the reactor has.
    package var openStreams = 0

    /// Sockets kept a moment longer so that a refusal reaches a client that was still sending.
    package var lingeringSockets = 0

    /// Nothing at all.
    package init() {}
}
