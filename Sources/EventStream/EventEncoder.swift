/// Writes `text/event-stream` (WHATWG HTML, section 9.2): UTF-8 bytes appended to the caller's buffer.
///
/// Each line ends with LF. A part that is not one line is refused before anything is appended, so that an author's
/// value cannot forge a line, an event or an id.
package enum EventEncoder {
    private static let lineFeed = UInt8(ascii: "\n")

    /// Appends one event: its `id` line if it has an id, the `event` line, one `data` line, the blank line.
    package static func append(
        _ event: ServerSentEvent, to output: inout [UInt8]
    ) throws(EventEncodingError) {
        try append(event: event.name, id: event.id, data: event.data, to: &output)
    }

    /// Appends an event: `id` (unless nil), `event`, one `data` line, the blank line.
    ///
    /// - Throws: ``EventEncodingError`` if a part contains CR, LF or NUL, or if the name or the id is empty. The output
    ///   is then unchanged.
    package static func append(
        event: String, id: String?, data: [UInt8], to output: inout [UInt8]
    ) throws(EventEncodingError) {
        guard isOneLine(data) else { throw .forbiddenByte(.data) }
        try appendHead(event: event, id: id, to: &output)
        output.append(contentsOf: data)
        appendTail(to: &output)
    }

    /// Appends an event whose `data` line is the concatenation of pieces, for envelopes around bytes that many streams
    /// share, without an intermediate copy.
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
    /// - Throws: ``EventEncodingError/forbiddenByte(_:)`` if the text contains CR, LF or NUL.
    package static func appendComment(_ text: String, to output: inout [UInt8]) throws(EventEncodingError) {
        guard isOneLine(text) else { throw .forbiddenByte(.comment) }
        append(": ", to: &output)
        append(text, to: &output)
        output.append(lineFeed)
    }

    /// Appends the delay before a client reconnects, followed by a blank line.
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
        // Uses the string's storage directly, since the sequence of a string is copied in several steps.
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
        // Without an early exit the compiler vectorizes this. Data is almost always valid.
        var found: UInt8 = 0
        for index in bytes.indices {
            let byte = bytes[index]
            found |= (byte == 0x0A ? 1 : 0) | (byte == 0x0D ? 1 : 0) | (byte == 0 ? 1 : 0)
        }
        return found == 0
    }
}

/// The error of an event that was not written. The output is unchanged.
package enum EventEncodingError: Error, Hashable, Sendable {
    /// The part contains CR, LF or NUL, which would end its line early or be ignored by clients.
    case forbiddenByte(Part)
    /// An empty event name, which clients treat as `message`, or an empty id, which resets their last id.
    case empty(Part)
    /// A reconnection time below zero.
    case negativeRetry(Int)

    /// A part of the output.
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
    /// A description for logs.
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

/// An event as a server writes it.
package struct ServerSentEvent: Hashable, Sendable {
    /// The event's type, for instance `state`.
    package var name: String
    /// The cursor that a client sends back as `Last-Event-ID`. An event without one leaves the client's last id
    /// unchanged.
    package var id: String?
    /// The data line: UTF-8 without CR, LF and NUL.
    package var data: [UInt8]

    /// Creates an event. ``EventEncoder`` refuses invalid parts.
    package init(name: String, id: String? = nil, data: [UInt8]) {
        self.name = name
        self.id = id
        self.data = data
    }
}
