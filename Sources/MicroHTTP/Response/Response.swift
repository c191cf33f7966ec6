/// A response to a request.
package struct Response: Sendable {
    /// The content after the head.
    package enum Body: Sendable {
        /// No content; `Content-Length: 0`.
        case empty

        /// These bytes, with their length.
        case bytes([UInt8])

        /// The bytes of the source until it finishes: chunked, or on HTTP/1.0 until the connection ends.
        ///
        /// For responses without a body (`HEAD`, 204, 304) the source is closed with `.finished` and never opened.
        case stream(any StreamSource)
    }

    /// The status code, 200 to 599.
    package var status: Int

    /// The fields, in order. `Date`, `Content-Length` and `Transfer-Encoding` are set by this module and ignored here;
    /// `Connection: close` is obeyed. A field with an invalid name or with a control character in its value is omitted
    /// and logged.
    package var fields: [ResponseField]

    /// The body. For 304, that of a 200: only its length is sent.
    package var body: Body

    /// A number and an object that identify the response in `RequestHandler.answered`. They are not sent.
    package var mark: UInt16 = 0
    package var note: (any AnyObject & Sendable)?

    /// A response from its parts.
    package init(status: Int, fields: [ResponseField] = [], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// A field of a response's head. It is validated when it is created, so that fields shared by many responses are
/// validated once.
package struct ResponseField: Sendable {
    enum Standing {
        case sent
        /// A field that defines the framing, which this module sets.
        case ours
        /// The name is no token, or the value has a control character.
        case malformed
    }

    /// The name, case-insensitive.
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
