import EventStream
import Testing

@Suite("Reading server-sent events (WHATWG HTML 9.2.6)")
struct EventParserTests {
    private func parse(_ text: String, in parser: inout EventParser) throws -> [ParsedEvent] {
        try parser.feed(text.utf8)
    }

    private func parse(_ text: String) throws -> [ParsedEvent] {
        var parser = EventParser()
        return try parse(text, in: &parser)
    }

    private func texts(_ text: String) throws -> [String] { try parse(text).map(\.text) }

    @Test("the specification's examples")
    func specification() throws {
        #expect(try texts("data: YHOO\ndata: +2\ndata: 10\n\n") == ["YHOO\n+2\n10"])
        let events = try parse(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n")
        #expect(events.map(\.text) == ["first event", "second event", " third event"])
        #expect(events.map(\.id) == ["1", "", nil])
        #expect(events.map(\.lastEventID) == ["1", "", ""])
        #expect(try texts("data\n\ndata\ndata\n\ndata:") == ["", "\n"])
        #expect(try texts("data:test\n\ndata: test\n\n") == ["test", "test"])
    }

    @Test("lines end with LF, CR or CRLF, however the stream is cut", arguments: ["\n", "\r", "\r\n"])
    func lineEnds(end: String) throws {
        let text = ["event: e", "data: a", "data: b", "", "id: 1", "data: c", "", ""].joined(separator: end)
        let expected = try parse(text)
        #expect(expected.map(\.text) == ["a\nb", "c"])
        #expect(expected.map(\.name) == ["e", "message"])
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var parser = EventParser()
            let events = try parser.feed(bytes[..<cut]) + parser.feed([]) + parser.feed(bytes[cut...])
            #expect(events == expected, "cut at \(cut)")
        }
    }

    @Test("a blank line's CR dispatches at once, and its LF is not another blank line")
    func carriageReturnAlone() throws {
        var parser = EventParser()
        #expect(try parse("data: a\r\n\r", in: &parser).map(\.text) == ["a"])
        #expect(try parse("\ndata: b\r", in: &parser).isEmpty)
        #expect(try parse("\n\n", in: &parser).map(\.text) == ["b"])
        #expect(try texts("data: a\n\r\ndata: b\r\r") == ["a", "b"])
    }

    @Test("one byte order mark at the start is skipped, whole or in pieces, and nowhere else")
    func byteOrderMark() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let event = Array("data: a\n\n".utf8)
        for cut in 0...3 {
            var parser = EventParser()
            #expect(try (parser.feed(mark[..<cut]) + parser.feed(mark[cut...] + event)).map(\.text) == ["a"])
        }
        for start in [mark + mark, [0xEF], [0xEF, 0xBB], [0xEF, 0xBB, 0x20], [0xEF, 0xEF, 0xBB, 0xBF]] {
            var parser = EventParser()
            #expect(try parser.feed(start + event).isEmpty, "\(start)")
            #expect(try parser.feed(event + mark + event).map(\.text) == ["a"])
        }
    }

    @Test("a field has one blank behind its colon taken off, and may have no colon")
    func fields() throws {
        #expect(try texts("data:a:b\n\n") == ["a:b"])
        #expect(try texts("data:\ta\n\n") == ["\ta"])
        #expect(try texts("data :a\n\n").isEmpty)
        #expect(try texts("Data: a\n\n").isEmpty)
        #expect(try texts("datax: a\n\n").isEmpty)
        #expect(try parse("event\ndata: a\n\n").first?.name == "message")
        #expect(try parse("event: a\nevent: b\ndata\n\n").first?.name == "b")
        #expect(try parse("event: a\n\ndata\n\n").map(\.name) == ["message"])
    }

    @Test("an id stays for later events, moves without data too, is reset by an empty one, and none has a NUL")
    func ids() throws {
        var parser = EventParser()
        let events = try parse("id: 1\ndata: a\n\ndata: b\n\nid: x\0y\ndata: c\n\n", in: &parser)
        #expect(events.map(\.lastEventID) == ["1", "1", "1"])
        #expect(events.map(\.id) == ["1", nil, nil])
        #expect(try parse("id: 2\n", in: &parser).isEmpty)
        #expect(parser.lastEventID == "1")
        #expect(try parse("\n", in: &parser).isEmpty)
        #expect(parser.lastEventID == "2")
        #expect(try parse("id\ndata\n\n", in: &parser).map(\.lastEventID) == [""])
        #expect(parser.lastEventID == "")
    }

    @Test("retry takes digits only")
    func retry() throws {
        var parser = EventParser()
        #expect(parser.retryMilliseconds == nil)
        for (text, expected) in [
            ("2750", 2750), ("-1", 2750), ("+1", 2750), ("1.5", 2750), ("", 2750), ("0", 0), ("0010", 10), ("1s", 10),
            ("99999999999999999999", 10), ("１", 10),
        ] {
            #expect(try parse("retry: \(text)\n", in: &parser).isEmpty)
            #expect(parser.retryMilliseconds == expected, "\(text)")
        }
    }

    @Test("what a stream ends in the middle of is discarded, and the last id is kept for the next connection")
    func reconnects() throws {
        var parser = EventParser()
        #expect(try parse("retry: 5\nid: 1\ndata: a\n\nid: 2\ndata: b\ndata: c", in: &parser).count == 1)
        parser.reconnect()
        #expect(parser.lastEventID == "1")
        #expect(parser.retryMilliseconds == 5)
        #expect(try parse("\u{FEFF}data: d\n\n", in: &parser).map(\.text) == ["d"])
    }

    @Test("bytes that are not UTF-8 are kept in the data and replaced in the text")
    func invalidUTF8() throws {
        var parser = EventParser()
        let events = try parser.feed(Array("data: a".utf8) + [0xFF] + Array("\n\n".utf8))
        #expect(events.first?.data == [0x61, 0xFF])
        #expect(events.first?.text == "a\u{FFFD}")
    }

    @Test("lines and events are bounded; what came whole before that is returned, and then the parser refuses")
    func bounds() throws {
        var parser = EventParser(maximumLineLength: 8)
        #expect(try parse("data: ab\n\n", in: &parser).count == 1)
        #expect(throws: EventParsingError.lineTooLong(limit: 8)) { try parser.feed("data: abc".utf8) }
        #expect(throws: EventParsingError.lineTooLong(limit: 8)) { try parser.feed("\n".utf8) }

        parser = EventParser(maximumLineLength: 8)
        #expect(try parse("data: a\n\n:        \ndata: b\n\n", in: &parser).map(\.text) == ["a"])
        #expect(throws: EventParsingError.lineTooLong(limit: 8)) { try parser.feed("\n".utf8) }

        parser = EventParser(maximumEventLength: 5)
        #expect(try parse("data: ab\ndata: cd\n\n", in: &parser).map(\.text) == ["ab\ncd"])
        #expect(throws: EventParsingError.eventTooLong(limit: 5)) { try parser.feed("data: ab\ndata: cde\n\n".utf8) }
        parser.reconnect()
        #expect(throws: EventParsingError.eventTooLong(limit: 5)) { try parser.feed("data: abcdef\n\n".utf8) }
        parser.reconnect()
        #expect(throws: EventParsingError.eventTooLong(limit: 5)) {
            try parser.feed(String(repeating: "data\n", count: 7).utf8)
        }
        parser.reconnect()
        #expect(try parse("data: abcde\n\n", in: &parser).map(\.text) == ["abcde"])
    }

    @Test("what the encoder writes the parser reads, however it is cut")
    func roundTrips() throws {
        var random = SystemRandomNumberGenerator()
        let words = ["a", "é", "😀", ":", " ", "data", "id: x", "\t", "{\"a\":1}", "\u{FEFF}", "\u{2028}", "\u{85}"]
        for _ in 0..<500 {
            func text(_ least: Int) -> String {
                (0..<Int.random(in: least...4, using: &random)).map { _ in words.randomElement() ?? "" }.joined()
            }
            let events = (0..<Int.random(in: 1...6)).map { _ in
                ServerSentEvent(name: text(1), id: Bool.random() ? text(1) : nil, data: Array(text(0).utf8))
            }
            var output: [UInt8] = []
            for event in events {
                if Bool.random() { try EventEncoder.appendComment(text(0), to: &output) }
                if Bool.random() { try EventEncoder.appendRetry(milliseconds: .random(in: 0...9), to: &output) }
                try EventEncoder.append(event, to: &output)
            }
            var parser = EventParser()
            var parsed: [ParsedEvent] = []
            var rest = output[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(7, rest.count))
                parsed += try parser.feed(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(parsed.map { ServerSentEvent(name: $0.name, id: $0.id, data: $0.data) } == events)
            #expect(parser.lastEventID == events.compactMap(\.id).last ?? "")
        }
    }

    @Test("random bytes never do harm")
    func survivesRandomBytes() throws {
        let bytes = Array("data:id:event:retry:\r\n\r\n\r\n\n\n\r\r 0\u{0}é\u{FEFF}".utf8)
        for _ in 0..<2000 {
            var parser = EventParser(maximumLineLength: 20, maximumEventLength: 30)
            for _ in 0..<5 {
                let chunk = (0..<Int.random(in: 0...20)).map { _ in bytes.randomElement() ?? 0 }
                guard let events = try? parser.feed(chunk) else { break }
                for event in events { #expect(event.data.count <= 30) }
            }
        }
    }
}
