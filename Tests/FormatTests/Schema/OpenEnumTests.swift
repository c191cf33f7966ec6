import Foundation
import Testing
import WireJSON

@testable import Schema

/// The types that the generator makes of ``OpenEnumTests/State`` with open enums, word for word; the test compares them.
private enum Probe {
    // generated: begin
    public enum Level: RawRepresentable, Codable, CaseIterable, Hashable, Sendable {
        case low
        case `self`
        case twoWords
        /// Sent by a newer server. The server refuses it in an intent.
        case unknown(String)

        /// The known cases.
        public static let allCases: [Self] = [.low, .`self`, .twoWords]

        public init(rawValue: String) {
            switch rawValue {
            case "low": self = .low
            case "self": self = .`self`
            case "two words": self = .twoWords
            default: self = .unknown(rawValue)
            }
        }

        public var rawValue: String {
            switch self {
            case .low: "low"
            case .`self`: "self"
            case .twoWords: "two words"
            case .unknown(let value): value
            }
        }
    }

    // generated: end

    // generated: begin
    public indirect enum Phase: Codable, Hashable, Sendable {
        case closed
        case open(count: Int, `in`: String?)
        case after(Probe.Phase)
        case unknown(reason: String)
        /// Sent by a newer server. The server refuses it in an intent.
        case unknown2(type: String)

        private enum MemberKeys: String, CodingKey {
            case type
            case count
            case `in`
            case value
            case reason
        }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: MemberKeys.self)
            let type = try members.decode(String.self, forKey: .type)
            switch type {
            case "closed": self = .closed
            case "open":
                self = .open(
                    count: try members.decode(Int.self, forKey: .count),
                    in: try members.decodeIfPresent(String.self, forKey: .`in`))
            case "after": self = .after(try members.decode(Probe.Phase.self, forKey: .value))
            case "unknown": self = .unknown(reason: try members.decode(String.self, forKey: .reason))
            default: self = .unknown2(type: type)
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: MemberKeys.self)
            switch self {
            case .closed:
                try members.encode("closed", forKey: .type)
            case .open(let value0, let value1):
                try members.encode("open", forKey: .type)
                try members.encode(value0, forKey: .count)
                try members.encodeIfPresent(value1, forKey: .`in`)
            case .after(let value0):
                try members.encode("after", forKey: .type)
                try members.encode(value0, forKey: .value)
            case .unknown(let value0):
                try members.encode("unknown", forKey: .type)
                try members.encode(value0, forKey: .reason)
            case .unknown2(let type): try members.encode(type, forKey: .type)
            }
        }
    }
    // generated: end
}

@Suite("Types with open enums")
struct OpenEnumTests {
    private enum Level: String, Codable { case low, `self`, twoWords = "two words" }
    private indirect enum Phase: Codable {
        case closed, open(count: Int, in: String?), after(Phase), unknown(reason: String)
    }
    private struct State: Codable {
        var level: Level
        var phase: Phase
        var step: Step
    }
    private enum Step: Int, Codable { case first = 1, last = 9 }
    private enum Mode: String, Codable { case fast, slow }
    private enum Intent: Codable { case go(mode: Mode), raise(to: Level) }

    private var shapes: [FeatureShape] {
        [
            FeatureShape(
                name: "probe", isKeyed: false, summary: "", state: State.self, intent: Intent.self, label: Never.self)
        ]
    }

    /// A text without its layout.
    private func letters(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }

    @Test func `Swift: the generated types are those that this file tests`() throws {
        let source = SwiftTypes.source(shapes, maker: "test", isOpen: true)
        let file = try String(contentsOfFile: #filePath, encoding: .utf8)
        let parts = file.matches(of: #/\n    // generated: begin\n([\s\S]*?)    // generated: end\n/#)
        #expect(parts.count == 2)
        for part in parts { #expect(letters(source).contains(letters(part.output.1)), "\(part.output.1)") }
        #expect(source.contains("case unknown(Int64)"))
        // What is only sent stays closed.
        #expect(source.contains("public enum Mode: String, Codable") && source.contains("public enum Intent: Codable"))
        #expect(!SwiftTypes.source(shapes, maker: "test").contains("newer server"))
    }

    @Test func `Swift: values that a newer server adds are kept`() throws {
        let levels = try WireJSON.decode([Probe.Level].self, from: Array(#"["low","two words","high"]"#.utf8))
        #expect(levels == [.low, .twoWords, .unknown("high")])
        #expect(try WireJSON.encode(levels) == Array(#"["low","two words","high"]"#.utf8))
    }

    @Test func `Swift: cases that a newer server adds are known by their names`() throws {
        let text =
            #"[{"type":"closed"},{"type":"open","count":3},{"type":"after","value":{"type":"open","count":1,"in":"x"}}]"#
        let phases = try WireJSON.decode([Probe.Phase].self, from: Array(text.utf8))
        #expect(phases == [.closed, .open(count: 3, in: nil), .after(.open(count: 1, in: "x"))])
        #expect(try WireJSON.encode(phases) == Array(text.utf8))
        let newer = try WireJSON.decode(Probe.Phase.self, from: Array(#"{"type":"paused","since":{"a":[1]}}"#.utf8))
        #expect(newer == .unknown2(type: "paused"))
        // A known case that lacks a member is an error, which names it.
        let error = #expect(throws: WireDecodingError.self) {
            try WireJSON.decode(Probe.Phase.self, from: Array(#"{"type":"open"}"#.utf8))
        }
        #expect(error.map { "\($0)".contains("/count") } == true)
    }

    @Test func `TypeScript: texts that a newer server adds are strings`() {
        let source = TypeScriptTypes.source(shapes, maker: "test", isOpen: true)
        #expect(source.contains(#"export type Level = "low" | "self" | "two words" | (string & {});"#))
        #expect(source.contains(#"export type Mode = "fast" | "slow";"#))
        #expect(source.contains("export type Step = 1 | 9;"))
        #expect(!TypeScriptTypes.source(shapes, maker: "test").contains("(string & {})"))
    }

    @Test func `Kotlin: enums have an unknown entry, sealed interfaces an unknown class`() {
        let source = KotlinTypes.source(shapes, maker: "test", isOpen: true)
        #expect(
            source.contains("polymorphicDefaultDeserializer(Probe.Phase::class) { Probe.Phase.Unknown2.serializer() }"))
        #expect(source.contains("@Serializable data class Unknown2(val type: String) : Probe.Phase"))
        #expect(source.contains("twoWords,\n        /** Sent by a newer server. */\n        unknown;"))
        #expect(source.contains("@SerialName(\"fast\") fast,"))
        #expect(!KotlinTypes.source(shapes, maker: "test").contains("newer server"))
    }
}
