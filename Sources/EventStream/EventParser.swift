/// Parses `text/event-stream` in pieces of any size (WHATWG HTML, section 9.2.6).
///
/// A value with one owner, which feeds it and receives the events. It stores one unfinished line and one unfinished
/// event, both of limited size.
package struct EventParser: Sendable {
    /// The `Last-Event-ID` for a reconnection; empty while the stream gave none. As in browsers, it changes at the
    /// blank line of the event that carries the id.
    package private(set) var lastEventID = ""
    /// The stream's last valid `retry`, in milliseconds.
    package private(set) var retryMilliseconds: Int?

    private let maximumLineLength: Int
    private let maximumEventLength: Int
    private var failure: EventParsingError?

    private var line: [UInt8] = []
    private var sawCarriageReturn = false
    private var byteOrderMark = ByteOrderMark.awaited(0)

    private var eventName: [UInt8] = []
    private var eventID: String?
    private var data: [UInt8] = []
    private var hasData = false

    private enum ByteOrderMark {
        case awaited(Int)
        case past
    }

    /// Creates a parser for the start of a stream.
    ///
    /// - Parameters:
    ///   - maximumLineLength: The maximum number of bytes of a line, without its end.
    ///   - maximumEventLength: The maximum number of bytes of an event's data lines together.
    package init(maximumLineLength: Int = 16 << 20, maximumEventLength: Int = 32 << 20) {
        self.maximumLineLength = maximumLineLength
        self.maximumEventLength = maximumEventLength
    }

    /// Parses the next bytes and returns the events that they complete, in order.
    ///
    /// - Throws: ``EventParsingError`` if a limit is exceeded, for good; the stream must be reopened. Events that the
    ///   same bytes completed before are returned first, and the next call throws.
    package mutating func feed(_ bytes: some Sequence<UInt8>) throws(EventParsingError) -> [ParsedEvent] {
        if let failure { throw failure }
        var events: [ParsedEvent] = []
        do throws(EventParsingError) {
            for byte in bytes { try read(byte, &events) }
        } catch {
            failure = error
            if events.isEmpty { throw error }
        }
        return events
    }

    /// Prepares the parser for a new connection. An unfinished line or event is discarded, as at the end of a stream;
    /// ``lastEventID`` and ``retryMilliseconds`` are kept.
    package mutating func reconnect() {
        var fresh = EventParser(maximumLineLength: maximumLineLength, maximumEventLength: maximumEventLength)
        fresh.lastEventID = lastEventID
        fresh.retryMilliseconds = retryMilliseconds
        self = fresh
    }

    private mutating func read(_ byte: UInt8, _ events: inout [ParsedEvent]) throws(EventParsingError) {
        if case .awaited(let count) = byteOrderMark {
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            if byte == mark[count] {
                byteOrderMark = count == 2 ? .past : .awaited(count + 1)
                return
            }
            // The bytes of an incomplete mark belong to the first line.
            byteOrderMark = .past
            for byte in mark[..<count] { try read(byte, &events) }
        }
        let followsCarriageReturn = sawCarriageReturn
        sawCarriageReturn = false
        switch byte {
        case UInt8(ascii: "\n"):
            if !followsCarriageReturn { try endLine(&events) }
        case UInt8(ascii: "\r"):
            // The line ends here, since no LF may follow for a long time. An LF after the CR is skipped.
            sawCarriageReturn = true
            try endLine(&events)
        default:
            guard line.count < maximumLineLength else { throw .lineTooLong(limit: maximumLineLength) }
            line.append(byte)
        }
    }

    private mutating func endLine(_ events: inout [ParsedEvent]) throws(EventParsingError) {
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty {
            dispatch(&events)
            return
        }
        let name: ArraySlice<UInt8>
        var value: ArraySlice<UInt8>
        if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            name = line[..<colon]
            value = line[(colon + 1)...]
            if value.first == UInt8(ascii: " ") { value.removeFirst() }
        } else {
            name = line[...]
            value = []
        }
        try process(name: name, value: value)
    }

    private mutating func process(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) throws(EventParsingError) {
        if name.elementsEqual("data".utf8) {
            let length = data.count + (hasData ? 1 : 0) + value.count
            guard length <= maximumEventLength else { throw .eventTooLong(limit: maximumEventLength) }
            if hasData { data.append(UInt8(ascii: "\n")) }
            data.append(contentsOf: value)
            hasData = true
        } else if name.elementsEqual("event".utf8) {
            eventName = Array(value)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { eventID = String(decoding: value, as: UTF8.self) }
        } else if name.elementsEqual("retry".utf8) {
            let isDigits = value.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if isDigits, let milliseconds = Int(String(decoding: value, as: UTF8.self)) {
                retryMilliseconds = milliseconds
            }
        }
        // All other fields are ignored, including comments, which have an empty name.
    }

    private mutating func dispatch(_ events: inout [ParsedEvent]) {
        // "Set the last event ID string" comes before the test for data, so an id alone changes it as well.
        if let eventID { lastEventID = eventID }
        if hasData {
            let name = eventName.isEmpty ? "message" : String(decoding: eventName, as: UTF8.self)
            events.append(ParsedEvent(name: name, id: eventID, lastEventID: lastEventID, data: data))
        }
        eventName = []
        eventID = nil
        data = []
        hasData = false
    }
}

/// An event as a client receives it.
package struct ParsedEvent: Hashable, Sendable {
    /// The event's type; `message` if the stream named none.
    package let name: String
    /// The id that this event itself carried, if any.
    package let id: String?
    /// The stream's last id including this event, for `Last-Event-ID`. Empty while none was given.
    package let lastEventID: String
    /// The data lines joined by LF, as the server sent them.
    package let data: [UInt8]

    /// The ``data`` as text. Invalid UTF-8 becomes U+FFFD.
    package var text: String { String(decoding: data, as: UTF8.self) }

    /// Creates an event.
    package init(name: String, id: String?, lastEventID: String, data: [UInt8]) {
        self.name = name
        self.id = id
        self.lastEventID = lastEventID
        self.data = data
    }
}

/// The error that ends the parsing of a stream.
package enum EventParsingError: Error, Hashable, Sendable {
    /// A line exceeds the maximum number of bytes.
    case lineTooLong(limit: Int)
    /// The data lines of an event exceed the maximum number of bytes.
    case eventTooLong(limit: Int)
}

extension EventParsingError: CustomStringConvertible {
    /// A description for logs.
    package var description: String {
        switch self {
        case .lineTooLong(let limit): "The event stream sent a line of more than \(limit) bytes."
        case .eventTooLong(let limit): "The event stream sent an event with more than \(limit) bytes of data."
        }
    }
}
