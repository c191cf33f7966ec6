/// Writes `text/event-stream` (WHATWG HTML, section 9.2): UTF-8 bytes appended to a buffer of the caller's.
///
/// Every line ends with LF. What cannot be written as one line is refused before anything is appended, so that no
/// value of an author's can forge a line, an event or an id.
package enum EventEncoder {
    private static let lineFeed = UInt8(ascii: "\n")

    /// Appends one event: its `id` line if it has an id, the `event` line, one `data` line, the blank line.
    package static func append(
        _ event: ServerSentEvent, to output: inout [UInt8]
    ) throws(EventEncodingError) {
        try append(event: event.name, id: event.id, data: event.data, to: &output)
    }

    /// Appends one event: `id` (unless nil), `event`, one `data` line, the blank line.
    ///
    /// - Throws: ``EventEncodingError`` when a part holds CR, LF or NUL, or when the name or the id is empty; the
    ///   output is then as it was.
    package static func append(
        event: String, id: String?, data: [UInt8], to output: inout [UInt8]
    ) throws(EventEncodingError) {
        guard isOneLine(data) else { throw .forbiddenByte(.data) }
        try appendHead(event: event, id: id, to: &output)
        output.append(contentsOf: data)
        appendTail(to: &output)
    }

    /// Appends one event whose `data` line is the pieces one after the other, for envelopes round bytes that many
    /// streams share: nothing is joined in between.
    ///
    /// - Throws: as ``append(event:id:data:to:)``.
    package static func append(
        event: String, id: String?, joining pieces: [[UInt8]], to output: inout [UInt8]
    ) throws(EventEncodingError) {
        for piece in pieces where !isOneLine(piece) { throw .forbiddenByte(.data) }
        try appendHead(event: event, id: id, to: &output)
        for piece in pieces { output.append(contentsOf: piece) }
        appendTail(to: &output)
    }

    /// Appends a comment line, which clients ignore and which browsers do not show to a page.
    ///
    /// - Throws: ``EventEncodingError/forbiddenByte(_:)`` when the text holds CR, LF or NUL.
    package static func appendComment(_ text: String, to output: inout [UInt8]) throws(EventEncodingError) {
        guard isOneLine(text) else { throw .forbiddenByte(.comment) }
        append(": ", to: &output)
        append(text, to: &output)
        output.append(lineFeed)
    }

    /// Appends the time that a client waits before it connects again, with a blank line behind it.
    ///
    /// - Throws: ``EventEncodingError/negativeRetry(_:)``.
    package static func appendRetry(milliseconds: Int, to output: inout [UInt8]) throws(EventEncodingError) {
        guard milliseconds >= 0 else { throw .negativeRetry(milliseconds) }
        append("retry: \(milliseconds)\n\n", to: &output)
    }

    private static func appendHead(
        event: String, id: String?, to output: inout [UInt8]
    ) throws(EventEncodingError) {
        guard isOneLine(event) else { throw .forbiddenByte(.event) }
        guard !event.utf8.isEmpty else { throw .empty(.event) }
        if let id {
            guard isOneLine(id) else { throw .forbiddenByte(.id) }
            guard !id.utf8.isEmpty else { throw .empty(.id) }
            append("id: ", to: &output)
            append(id, to: &output)
            append("\nevent: ", to: &output)
        } else {
            append("event: ", to: &output)
        }
        append(event, to: &output)
        append("\ndata: ", to: &output)
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        // A view of its storage: as a sequence a string is copied in several steps.
        var text = text
        text.withUTF8 { output.append(contentsOf: $0) }
    }

    private static func appendTail(to output: inout [UInt8]) {
        output.append(lineFeed)
        output.append(lineFeed)
    }

    /// Compares bytes, not Characters: in Swift `"\r\n"` is one Character that equals neither `"\r"` nor `"\n"`.
    private static func isOneLine(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isOneLine($0.span) }
    }

    private static func isOneLine(_ data: [UInt8]) -> Bool {
        let all = data[...]
        return isOneLine(all.span)
    }

    private static func isOneLine(_ bytes: Span<UInt8>) -> Bool {
        // Without an early exit the compiler turns this into vector code; data is almost always good.
        var found: UInt8 = 0
        for index in bytes.indices {
            let byte = bytes[index]
            found |= (byte == 0x0A ? 1 : 0) | (byte == 0x0D ? 1 : 0) | (byte == 0 ? 1 : 0)
        }
        return found == 0
    }
}

/// The reason for which an event was not written. The output is unchanged then.
package enum EventEncodingError: Error, Hashable, Sendable {
    /// The part holds CR, LF or NUL: it would end its line early, or be ignored by every client.
    case forbiddenByte(Part)
    /// An empty event name, which clients take for `message`, or an empty id, which resets their last id.
    case empty(Part)
    /// A reconnection time below zero.
    case negativeRetry(Int)

    /// A part of what is written.
    package enum Part: String, Hashable, Sendable {
        /// The event's name.
        case event
        /// The event's id.
        case id
        /// The event's data.
        case data
        /// A comment's text.
        case comment
    }
}

extension EventEncodingError: CustomStringConvertible {
    /// The error as a log's text.
    package var description: String {
        switch self {
        case .forbiddenByte(let part):
            "The \(part.rawValue) of a server-sent event holds CR, LF or NUL; it must be one line of text."
        case .empty(let part):
            "The \(part.rawValue) of a server-sent event is empty; leave it out or give it a value."
        case .negativeRetry(let milliseconds):
            "A reconnection time of \(milliseconds) ms is below zero."
        }
    }
}

/// One event as a server writes it.
package struct ServerSentEvent: Hashable, Sendable {
    /// The event's type, for instance `state`.
    package var name: String
    /// The cursor that a client sends back as `Last-Event-ID`; an event without one leaves the client's last id as
    /// it is.
    package var id: String?
    /// UTF-8 without CR, LF and NUL: one line.
    package var data: [UInt8]

    /// An event of its parts; ``EventEncoder`` refuses parts that do not fit on their lines.
    package init(name: String, id: String? = nil, data: [UInt8]) {
        self.name = name
        self.id = id
        self.data = data
    }
}
