/// An answer to a request.
package struct Response: Sendable {
    /// What follows the head.
    package enum Body: Sendable {
        /// Nothing; `Content-Length: 0`.
        case empty

        /// These bytes, with their length.
        case bytes([UInt8])

        /// What the source gives, until it finishes: chunked, or on HTTP/1.0 until the connection ends.
        ///
        /// Where no body may follow (`HEAD`, 204, 304) the source is closed with `.finished` and never opened.
        case stream(any StreamSource)
    }

    /// The status code, 200 to 599.
    package var status: Int

    /// The fields, in order. `Date`, `Content-Length` and `Transfer-Encoding` are the layer's and are ignored here;
    /// `Connection: close` is obeyed. A name that is no token, or a value with a control character, is left out and
    /// logged.
    package var fields: [ResponseField]

    /// The body. With 304 give the one that 200 would have: its length is sent, it is not.
    package var body: Body

    /// A number, and an object, by which its handler knows it again in `RequestHandler.answered`. They are not sent.
    package var mark: UInt16 = 0
    package var note: (any AnyObject & Sendable)?

    /// A response from its parts.
    package init(status: Int, fields: [ResponseField] = [], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// A field of a response's head. Whether it can be sent is found out when it is made, so that the fields which many
/// responses share are made, and looked at, once.
package struct ResponseField: Sendable {
    enum Standing {
        case sent
        /// Says how the message is framed, which only this layer knows.
        case ours
        /// The name is no token, or the value has a control character.
        case malformed
    }

    /// The name, in whatever case.
    package let name: String
    /// The value.
    package let value: String
    let standing: Standing

    /// A field from its parts.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
        let isWellFormed = Self.check(name, \.isToken) && Self.check(value, \.isFieldValue)
        standing = Self.isOurs(name) ? .ours : isWellFormed ? .sent : .malformed
    }

    private static func check(_ text: String, _ isGood: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        var text = text
        return text.withUTF8(isGood)
    }

    private static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4, 14, 17: ["date", "content-length", "transfer-encoding"].contains(name.lowercased())
        default: false
        }
    }
}
