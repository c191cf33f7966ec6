import EventStream
import Testing

@Suite("Writing server-sent events")
struct EventEncoderTests {
    private func text(_ write: (inout [UInt8]) throws -> Void) rethrows -> String {
        var output: [UInt8] = []
        try write(&output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test("an event is its id, its name, one data line and a blank line")
    func writesEvents() throws {
        #expect(
            try text { try EventEncoder.append(event: "label", id: "k3.42", data: Array(#"{"a":1}"#.utf8), to: &$0) }
                == "id: k3.42\nevent: label\ndata: {\"a\":1}\n\n")
        #expect(
            try text { try EventEncoder.append(event: "state", id: nil, data: Array("é: x ".utf8), to: &$0) }
                == "event: state\ndata: é: x \n\n")
        #expect(
            try text { try EventEncoder.append(ServerSentEvent(name: "end", data: []), to: &$0) }
                == "event: end\ndata: \n\n")
    }

    @Test("pieces are joined on one data line")
    func joinsPieces() throws {
        let pieces: [[UInt8]] = [Array(#"{"state":"#.utf8), [], Array("{}".utf8), Array("}".utf8)]
        #expect(
            try text { try EventEncoder.append(event: "state", id: "a.1", joining: pieces, to: &$0) }
                == "id: a.1\nevent: state\ndata: {\"state\":{}}\n\n")
        #expect(
            try text { try EventEncoder.append(event: "e", id: nil, joining: [], to: &$0) }
                == "event: e\ndata: \n\n")
    }

    @Test("comments and reconnection times")
    func writesComments() throws {
        #expect(
            try text {
                try EventEncoder.appendComment("ok", to: &$0)
                try EventEncoder.appendRetry(milliseconds: 2750, to: &$0)
            } == ": ok\nretry: 2750\n\n")
    }

    @Test("CR, LF and NUL are refused in every part, and nothing is written", arguments: ["\r", "\n", "\r\n", "\0"])
    func refusesLineEnds(end: String) {
        for text in [end, "a\(end)", "\(end)b", "é\(end)data: forged"] {
            let bytes = Array(text.utf8)
            expect(.forbiddenByte(.event)) { try EventEncoder.append(event: text, id: "a.1", data: [], to: &$0) }
            expect(.forbiddenByte(.id)) { try EventEncoder.append(event: "e", id: text, data: [], to: &$0) }
            expect(.forbiddenByte(.data)) { try EventEncoder.append(event: "e", id: "a.1", data: bytes, to: &$0) }
            expect(.forbiddenByte(.data)) {
                try EventEncoder.append(event: "e", id: "a.1", joining: [[0x61], bytes, [0x62]], to: &$0)
            }
            expect(.forbiddenByte(.comment)) { try EventEncoder.appendComment(text, to: &$0) }
        }
    }

    @Test("an empty id or name is refused, and so is a time below zero")
    func refusesEmpty() {
        expect(.empty(.id)) { try EventEncoder.append(event: "e", id: "", data: [], to: &$0) }
        expect(.empty(.event)) { try EventEncoder.append(event: "", id: "a.1", data: [], to: &$0) }
        expect(.negativeRetry(-1)) { try EventEncoder.appendRetry(milliseconds: -1, to: &$0) }
    }

    @Test("every error says what is wrong")
    func describesErrors() {
        #expect("\(EventEncodingError.forbiddenByte(.id))".contains("id of a server-sent event holds CR, LF or NUL"))
        #expect("\(EventEncodingError.empty(.event))".contains("event of a server-sent event is empty"))
        #expect("\(EventEncodingError.negativeRetry(-5))".contains("-5 ms"))
        #expect("\(EventParsingError.lineTooLong(limit: 7))".contains("7 bytes"))
        #expect("\(EventParsingError.eventTooLong(limit: 8))".contains("8 bytes"))
    }

    private func expect(
        _ expected: EventEncodingError, location: SourceLocation = #_sourceLocation,
        _ write: (inout [UInt8]) throws -> Void
    ) {
        var output = Array("before".utf8)
        #expect(throws: expected, sourceLocation: location) { try write(&output) }
        #expect(output == Array("before".utf8), sourceLocation: location)
    }
}
