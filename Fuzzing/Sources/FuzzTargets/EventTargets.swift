import EventStream

extension FuzzTarget {
    /// A stream of server-sent events gives the same events with any chunks, and the encoder reproduces parsed events.
    /// The first byte selects the chunks and the parser's limits.
    static let events = FuzzTarget(name: "events") { input throws(BrokenProperty) in
        guard let first = input.first else { return }
        let stream = input.dropFirst()
        let isNarrow = first & 1 == 1
        let whole = Reading(stream, isNarrow: isNarrow) { stream.count }
        var count = Int(first >> 1)
        let cut = Reading(stream, isNarrow: isNarrow) {
            count = (count * 5 + 3) % 11
            return count
        }
        try hold(whole == cut, "a stream in other chunks gives other events: \(whole), \(cut)")
        try hold(whole == Reading(stream, isNarrow: isNarrow) { 1 }, "a stream in single bytes gives other events")
        for event in whole.events { try writeAgain(event) }
        try write(stream)
    }

    /// The events and the failure from parsing a stream.
    private struct Reading: Equatable {
        var events: [ParsedEvent] = []
        var failure: EventParsingError?
        let lastEventID: String
        let retry: Int?

        init(_ stream: ArraySlice<UInt8>, isNarrow: Bool, next: () -> Int) {
            var parser =
                isNarrow ? EventParser(maximumLineLength: 24, maximumEventLength: 16) : EventParser()
            var rest = stream
            do throws(EventParsingError) {
                repeat {
                    let piece = rest.prefix(next())
                    events += try parser.feed(piece)
                    rest = rest.dropFirst(piece.count)
                } while !rest.isEmpty
                // The next call throws a failure that follows events.
                events += try parser.feed([])
            } catch {
                failure = error
            }
            (lastEventID, retry) = (parser.lastEventID, parser.retryMilliseconds)
        }
    }

    /// Encodes a parsed event and parses it again, unless it has several data lines.
    private static func writeAgain(_ event: ParsedEvent) throws(BrokenProperty) {
        let sent = ServerSentEvent(name: event.name, id: event.id, data: event.data)
        let isForbidden = hasForbidden(event.data) || hasForbidden(event.name.utf8)
        try write(sent, isRefused: isForbidden || event.id?.isEmpty == true)
    }

    /// Encodes parts that a feature's author may give: name, id, data and a comment, separated by 0xFF.
    private static func write(_ input: ArraySlice<UInt8>) throws(BrokenProperty) {
        let parts = input.split(separator: 0xFF, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2 else { return }
        let (name, id) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
        let isRefused = hasForbidden(name.utf8) || hasForbidden(id.utf8) || hasForbidden(parts[2])
        try write(
            ServerSentEvent(name: name, id: id, data: Array(parts[2])),
            isRefused: isRefused || name.isEmpty || id.isEmpty)
        guard parts.count > 3 else { return }
        let comment = String(decoding: parts[3], as: UTF8.self)
        var output: [UInt8] = []
        let result = attempt { () throws(EventEncodingError) in
            try EventEncoder.appendComment(comment, to: &output)
        }
        switch result {
        case .success:
            try hold(!hasForbidden(output.dropLast()) && output.first == UInt8(ascii: ":"), "a comment forges a line")
        case .failure: try hold(hasForbidden(comment.utf8) && output.isEmpty, "a comment is refused")
        }
    }

    private static func write(_ event: ServerSentEvent, isRefused: Bool) throws(BrokenProperty) {
        let before = Array("event: e\ndata: {}\n\n".utf8)
        var output = before
        let result = attempt { () throws(EventEncodingError) in try EventEncoder.append(event, to: &output) }
        guard case .success = result else {
            try hold(isRefused, "an event of one line each is refused: \(event)")
            return try hold(output == before, "a refused event is in the output")
        }
        try hold(!isRefused, "an event with a forged line is written: \(event)")
        let lines = output.dropFirst(before.count).split(separator: 0x0A, omittingEmptySubsequences: false)
        // Each line's end, the blank line's, and nothing behind it.
        try hold(lines.count == (event.id == nil ? 4 : 5), "an event has \(lines.count) lines: \(event)")
        try hold(!output.contains { $0 == 0x0D || $0 == 0 }, "an event has a CR or NUL")
        var parser = EventParser()
        let events = try succeed("an encoded event cannot be read") { try parser.feed(output) }
        try hold(events.count == 2, "an event is read as \(events.count - 1)")
        let read = events[1]
        try hold(
            read.data == event.data && read.name.utf8.elementsEqual(event.name.utf8)
                && (read.id ?? "").utf8.elementsEqual((event.id ?? "").utf8),
            "an event changes when it is read: \(event), \(read)")
    }

    private static func hasForbidden(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    }

    /// A text is a cursor exactly if it has a cursor's form, and writing that cursor gives the same text.
    static let cursor = FuzzTarget(name: "cursor") { input throws(BrokenProperty) in
        let text = String(decoding: input, as: UTF8.self)
        let cursor = Cursor(text)
        try hold((cursor != nil) == isCursor(Array(text.utf8)), "'\(text)' is read as \(cursor as Any)")
        // By bytes: a combining character joins the character before it.
        let part = Substring("<\(text)>".utf8.dropFirst().dropLast())
        try hold(Cursor(part) == cursor, "a part of a text is another cursor")
        guard let cursor else { return }
        try hold(cursor.description.utf8.elementsEqual(text.utf8), "'\(text)' is written as '\(cursor)'")
        try hold(Epoch.isValid(cursor.epoch), "'\(cursor.epoch)' is an epoch")
        let next = Cursor(epoch: cursor.epoch, sequence: cursor.sequence &+ 1)
        try hold(Cursor(next.description) == next && next != cursor, "the cursor after '\(cursor)' is none")
    }

    /// An independent check of a cursor's grammar.
    private static func isCursor(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= 128, let dot = bytes.lastIndex(of: 0x2E) else { return false }
        let (epoch, digits) = (bytes[..<dot], bytes[(dot + 1)...])
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-".utf8)
        guard 1...107 ~= epoch.count, epoch.allSatisfy(alphabet.contains) else { return false }
        let isNumber = !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, digits.count == 1 || digits.first != 0x30, digits.count <= 20 else { return false }
        return digits.count < 20 || !Array("18446744073709551615".utf8).lexicographicallyPrecedes(digits)
    }
}
