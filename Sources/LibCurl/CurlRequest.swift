/// A request over HTTP, with its bounds.
///
/// Redirects are not followed, the environment's proxies are not used, and only `http` and `https` are spoken.
package struct CurlRequest: Sendable {
    package enum Version: Sendable {
        case http1
        /// HTTP/2 where TLS offers it, else HTTP/1.1.
        case newest
    }

    package var method: String
    package var url: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    package var version = Version.http1
    /// From the beginning to the last byte, the look-up of the name and the wait for a connection included; nil for no bound.
    package var time: Duration?
    /// For a connection to be there.
    package var connectTime: Duration = .seconds(5)
    /// Whether answers in gzip and deflate are asked for and decoded.
    package var decodes = false
    /// A file with certificates (PEM) that are trusted beside the system's.
    package var authorities: String?
    /// Whether neither the connection nor the name's address outlives the request.
    package var isAlone = false

    package init(
        _ method: String = "GET", _ url: String, fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        time: Duration? = nil
    ) {
        (self.method, self.url, self.fields, self.body, self.time) = (method, url, fields, body, time)
    }
}

/// The head of an answer: the last one, after those with a status below 200.
package struct CurlHead: Sendable {
    package var status = 0
    /// `1.0`, `1.1` or `2`.
    package var version = ""
    package var fields: [(name: String, value: String)] = []
}

/// What comes of an answer, in its order.
package enum CurlPart: Sendable {
    case head(CurlHead)
    case bytes([UInt8])
}

/// A whole answer.
package struct CurlAnswer: Sendable {
    package var head = CurlHead()
    package var body: [UInt8] = []
}

/// A request that failed.
package struct CurlFailure: Error, CustomStringConvertible {
    package enum Reason: Sendable {
        /// The request cannot be written: its address or a field is none.
        case notWritten
        /// The file of trusted certificates cannot be read.
        case badAuthorities
        /// The server's name is not known.
        case unknownHost
        /// No connection: nothing listens at the address, or it does not answer.
        case noConnection
        /// The server's certificate is not one that this machine trusts.
        case notTrusted
        /// The time was over.
        case tookTooLong
        /// The answer has more bytes than the receiver takes.
        case tooLong
        /// The connection ended, or what came on it is no answer.
        case broken
        /// The task was cancelled, or the client closed.
        case cancelled
    }

    package let reason: Reason
    /// Whether the server may have got the request, or a part of it.
    package let mayHaveArrived: Bool
    /// What happened, mostly in the library's words.
    package let description: String
}
