/// An HTTP request with its limits.
///
/// Redirects are not followed, the environment's proxies are not used, and only `http` and `https` are allowed.
package struct CurlRequest: Sendable {
    package enum Version: Sendable {
        case http1
        /// HTTP/2 if TLS offers it, otherwise HTTP/1.1.
        case newest
    }

    package var method: String
    package var url: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    package var version = Version.http1
    /// The time limit, including the name look-up and the wait for a connection; nil for none.
    package var time: Duration?
    /// The time limit for connecting.
    package var connectTime: Duration = .seconds(5)
    /// True to request and decode gzip and deflate.
    package var decodes = false
    /// A file with certificates (PEM) that are trusted in addition to the system's.
    package var authorities: String?
    /// True to send the body only after `100 Continue`, or after a second without an answer (RFC 9110 section 10.1.1): a
    /// refusal by the head then arrives before the body. With `http1` only.
    package var expectsContinue = false
    /// True to use a connection and a name look-up for this request only.
    package var isAlone = false

    package init(
        _ method: String = "GET", _ url: String, fields: [(name: String, value: String)] = [], body: [UInt8] = [],
        time: Duration? = nil
    ) {
        (self.method, self.url, self.fields, self.body, self.time) = (method, url, fields, body, time)
    }
}

/// The head of a response: the last one, after those with a status below 200.
package struct CurlHead: Sendable {
    package var status = 0
    /// `1.0`, `1.1` or `2`.
    package var version = ""
    package var fields: [(name: String, value: String)] = []
}

/// The parts of a response, in order.
package enum CurlPart: Sendable {
    case head(CurlHead)
    case bytes([UInt8])
}

/// A whole response.
package struct CurlAnswer: Sendable {
    package var head = CurlHead()
    package var body: [UInt8] = []
}

/// An error of a request.
package struct CurlFailure: Error, CustomStringConvertible {
    package enum Reason: Sendable {
        /// The request is invalid: its URL or a field.
        case notWritten
        /// The file of trusted certificates cannot be read.
        case badAuthorities
        /// The server's name is unknown.
        case unknownHost
        /// No connection: nothing listens at the address, or it does not respond.
        case noConnection
        /// This machine does not trust the server's certificate.
        case notTrusted
        /// The time limit was exceeded.
        case tookTooLong
        /// The response exceeds the receiver's limit.
        case tooLong
        /// The connection ended, or the response is invalid.
        case broken
        /// The task was canceled, or the client was closed.
        case cancelled
    }

    package let reason: Reason
    /// True if the server may have received any part of the request.
    package let mayHaveArrived: Bool
    /// A description, usually libcurl's.
    package let description: String
}
