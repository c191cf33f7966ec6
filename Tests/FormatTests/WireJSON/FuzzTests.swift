import Foundation
import Testing
import WireJSON

@Suite("Random documents, with Foundation's decoder as the oracle")
struct FuzzTests {
    /// A random value as a text, with blanks and escapes where they may be.
    private struct Writer {
        var random: SeededGenerator
        var output: [UInt8] = []

        mutating func value(depth: Int) {
            blank()
            switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
            case 0: output += "null".utf8
            case 1: output += (Bool.random(using: &random) ? "true" : "false").utf8
            case 2: output += "\(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))".utf8
            case 3: real()
            case 4, 5: string()
            case 6, 7: list("[", "]", depth) { $0.value(depth: depth - 1) }
            default:
                var names = 0
                list("{", "}", depth) {
                    $0.blank()
                    names += 1
                    $0.string(unique: names)
                    $0.blank()
                    $0.output.append(UInt8(ascii: ":"))
                    $0.value(depth: depth - 1)
                }
            }
            blank()
        }

        mutating func list(_ open: Character, _ close: Character, _ depth: Int, _ item: (inout Writer) -> Void) {
            output += String(open).utf8
            for index in 0..<Int.random(in: 0...4, using: &random) {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                item(&self)
            }
            output += String(close).utf8
        }

        mutating func blank() {
            if random.next() % 8 == 0, let blank = [" ", "\n", "\t", "\r", "  "].randomElement(using: &random) {
                output += blank.utf8
            }
        }

        mutating func real() {
            let digits = random.next() >> UInt64.random(in: 0...63, using: &random)
            let texts = [
                "\(Double(digits) / 1000)", "-\(digits % 1000).\(digits)", "\(digits)e-\(digits % 30)",
                "\(digits)E+\(digits % 20)", "0.\(digits)e\(digits % 40)", "\(digits % 10).0",
            ]
            output += (texts.randomElement(using: &random) ?? "0").utf8
        }

        mutating func string(unique: Int? = nil) {
            output.append(UInt8(ascii: "\""))
            if let unique { output += "\(unique)".utf8 }
            let parts = [
                "a", "type", "é", "e\u{301}", "€", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9",
                "\\ud83d\\ude00",
                "\u{7F}", "\u{2028}", "\\u0000", "\\b\\f\\r\\t", " ",
            ]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                output += (parts.randomElement(using: &random) ?? "").utf8
            }
            output.append(UInt8(ascii: "\""))
        }
    }

    private static func document(_ seed: UInt64) -> [UInt8] {
        var writer = Writer(random: SeededGenerator(seed: seed))
        writer.value(depth: 4)
        return writer.output
    }

    @Test("valid documents mean the same to both, and survive being written again")
    func agreesOnValidDocuments() throws {
        for seed in 0..<4000 as Range<UInt64> {
            let bytes = Self.document(seed)
            let text = String(decoding: bytes, as: UTF8.self)
            let value = try WireJSON.decode(AnyValue.self, from: bytes)
            #expect(value == AnyValue.oracle(bytes), "seed \(seed): \(text)")
            let written = try WireJSON.encode(value)
            #expect(try WireJSON.decode(AnyValue.self, from: written) == value, "seed \(seed): \(text)")
            #expect(AnyValue.oracle(written) == value, "seed \(seed): \(text)")
        }
    }

    @Test("damaged documents are taken or refused by both, but for what is meant to differ")
    func agreesOnDamagedDocuments() throws {
        var random = SeededGenerator(seed: 42)
        var (accepted, refused) = (0, 0)
        for seed in 0..<20_000 as Range<UInt64> {
            var bytes = Self.document(seed)
            for _ in 0..<Int.random(in: 1...3, using: &random) { Self.damage(&bytes, &random) }
            // Foundation takes a byte order mark and guesses UTF-16 and UTF-32 by zero bytes; here it is UTF-8 only.
            if bytes.contains(0) || [0xEF, 0xFE, 0xFF].contains(bytes.first) { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            let oracle = AnyValue.oracle(bytes)
            do throws(WireDecodingError) {
                let value = try WireJSON.decode(AnyValue.self, from: bytes)
                accepted += 1
                #expect(value == oracle, "seed \(seed): \(text)")
            } catch {
                refused += 1
                #expect(oracle == nil || Self.isDeliberate(error, bytes), "seed \(seed): \(text): \(error)")
            }
        }
        #expect(accepted > 1000 && refused > 1000)
    }

    /// Foundation keeps one of two members of a name, and takes a comma behind the last element.
    private static func isDeliberate(_ error: WireDecodingError, _ bytes: [UInt8]) -> Bool {
        guard case .malformed(let offset, let reason) = error else { return false }
        if reason == "a duplicate member name" { return true }
        let closes = offset < bytes.count && (bytes[offset] == UInt8(ascii: "]") || bytes[offset] == UInt8(ascii: "}"))
        let before = bytes[..<min(offset, bytes.count)].last { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
        return closes && before == UInt8(ascii: ",")
    }

    private static func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let pieces =
            Array("{}[]\",:\\/-+.eE0123456789abtfnu \n\t\r\u{1}\u{7F}é€😀".utf8) + [0x80, 0xC0, 0xED, 0xA0, 0xF5]
        let byte = pieces.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<5, using: &random) {
        case 0 where place < bytes.count: bytes.remove(at: place)
        case 1 where place < bytes.count: bytes[place] = byte
        case 2 where place < bytes.count: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
        case 3: bytes.removeSubrange(place...)
        default: bytes.insert(byte, at: place)
        }
    }

    @Test("random bytes never do harm, whatever they are decoded as")
    func survivesRandomBytes() {
        var random = SeededGenerator(seed: 7)
        let letters = Array("{}[]\",:\\ue-.019typeadmountrslf ".utf8)
        for round in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                round.isMultiple(of: 4)
                    ? UInt8.random(in: .min ... .max, using: &random) : letters.randomElement(using: &random) ?? 0
            }
            _ = try? WireJSON.decode(Intent.self, from: bytes)
            _ = try? WireJSON.decode([Intent?].self, from: bytes)
            _ = try? WireJSON.decode([String: Double].self, from: bytes)
            _ = try? WireJSON.decode(AnyValue.self, from: bytes)
        }
        let intent = Array(#"{"type":"move","value":"north","steps":["south","north"]}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = intent
            for _ in 0..<Int.random(in: 1...4, using: &random) { Self.damage(&bytes, &random) }
            do throws(WireDecodingError) {
                _ = try WireJSON.decode(Intent.self, from: bytes)
            } catch {
                #expect(!"\(error)".contains("Intent") && !"\(error)".contains("Direction"), "\(error)")
            }
        }
    }

    @Test("random values of plain types come back equal, and Foundation reads the same")
    func roundTripsPlainTypes() throws {
        struct Row: Codable, Equatable {
            var id: Int
            var small: UInt8
            var title: String
            var ratio: Double
            var parts: [Float]
            var note: String?
            var flags: [String: Bool?]
            var tags: Set<String>
            var pair: [Int: [Int16]]
        }
        var random = SeededGenerator(seed: 3)
        func text() -> String {
            String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in
                        Unicode.Scalar(
                            UInt32.random(in: 0...0x1_0FFF, using: &random) >> UInt32.random(in: 0...10, using: &random)
                        )
                    }))
        }
        for _ in 0..<2000 {
            let row = Row(
                id: Int(bitPattern: UInt(random.next())), small: .random(in: .min ... .max, using: &random),
                title: text(), ratio: Double.random(in: -1e9...1e9, using: &random),
                parts: (0..<3).map { _ in Float.random(in: -1...1, using: &random) },
                note: Bool.random(using: &random) ? text() : nil, flags: [text(): nil, text() + "x": true],
                tags: [text(), text(), text()], pair: [Int.random(in: 0...9, using: &random): [1, -1]])
            let bytes = try WireJSON.encode(row)
            #expect(try WireJSON.decode(Row.self, from: bytes) == row)
            #expect(try JSONDecoder().decode(Row.self, from: Data(bytes)) == row)
            #expect(try WireJSON.decode(Row.self, from: Array(JSONEncoder().encode(row))) == row)
        }
    }
}
