import EventStream
import FoundationEssentials
import Testing

/// The files of `Clients/Conformance/golden`, which clients in other languages use as well.
@Suite("Golden files of event streams")
struct GoldenFilesTests {
    @Test("the encoder writes the bytes of every golden file, and refuses what the file says", arguments: encoderFiles)
    func encodes(file: GoldenFile) throws {
        let golden = try file.decoded(EncoderCase.self)
        var output: [UInt8] = []
        var refused: EventEncodingError?
        for write in golden.writes {
            do {
                try write.append(to: &output)
            } catch {
                refused = error
                break
            }
        }
        #expect(try output == file.bytes())
        #expect(refused.map(part) == golden.refused)
    }

    @Test("the parser reads the events of every golden file, however its bytes are cut", arguments: parserFiles)
    func parses(file: GoldenFile) throws {
        let golden = try file.decoded(ParserCase.self)
        let bytes = try file.bytes()
        for cut in 0...bytes.count {
            var parser = EventParser()
            let events = try parser.feed(bytes[..<cut]) + parser.feed(bytes[cut...])
            #expect(events.map(ParserCase.Event.init) == golden.events, "cut at \(cut)")
            #expect(parser.lastEventID == golden.lastID)
            #expect(parser.retryMilliseconds == golden.retry)
        }
    }

    @Test("there are golden files for both")
    func areThere() {
        #expect(Self.encoderFiles.count >= 20)
        #expect(Self.parserFiles.count >= 30)
    }

    private static let encoderFiles = GoldenFile.all(in: "encoder")
    private static let parserFiles = GoldenFile.all(in: "parser")

    private func part(_ error: EventEncodingError) -> String {
        switch error {
        case .forbiddenByte(let part), .empty(let part): part.rawValue
        case .negativeRetry: "retry"
        }
    }
}

/// A file of `golden/encoder`: the writes, and the refused part.
private struct EncoderCase: Decodable {
    struct Write: Decodable {
        var comment: String?
        var retry: Int?
        var event: String?
        var id: String?
        var data: String?

        func append(to output: inout [UInt8]) throws(EventEncodingError) {
            if let comment {
                try EventEncoder.appendComment(comment, to: &output)
            } else if let retry {
                try EventEncoder.appendRetry(milliseconds: retry, to: &output)
            } else {
                try EventEncoder.append(event: event ?? "", id: id, data: Array((data ?? "").utf8), to: &output)
            }
        }
    }

    let writes: [Write]
    let refused: String?
}

/// A file of `golden/parser`.
private struct ParserCase: Decodable {
    struct Event: Decodable, Equatable {
        let type: String
        let data: String
        let lastID: String

        init(_ event: ParsedEvent) {
            type = event.name
            data = event.text
            lastID = event.lastEventID
        }
    }

    let events: [Event]
    let lastID: String
    let retry: Int?
}
