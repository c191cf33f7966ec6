import Foundation
import Testing

@testable import Schema

@Suite("Types in other languages")
struct SourceTests {
    private enum Intent: Codable {
        case `default`(in: Int, `class`: String?)
        case string(String)
        case json(Anything)
    }
    private enum Level: String, Codable { case name, `self`, twoWords = "two words" }
    private enum Step: Int, Codable { case first = 1, last = 9 }
    private struct Anything: Codable {
        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Int.self)) == nil { _ = try container.decode(String.self) }
        }
        func encode(to encoder: any Encoder) throws {}
    }
    private struct List: Codable {
        enum CodingKeys: String, CodingKey { case items = "all-items", next }
        var items: [Level?]
        var next: Step?
    }
    private struct State: Codable {
        var list: List
        var open: Anything?
    }

    private var shapes: [FeatureShape] {
        [
            FeatureShape(
                name: "odd-one", isKeyed: true, summary: "Odd */ names.", state: State.self, intent: Intent.self,
                label: Never.self)
        ]
    }

    @Test func `TypeScript: names that are no identifiers are quoted`() {
        #expect(
            TypeScriptTypes.source(shapes, maker: "test") == """
                // Made by test from the Swift types of its features (`types --typescript`). Do not edit.

                /** The features by their names on the server. */
                export interface Features {
                  [instance: `odd-one:${string}`]: { state: OddOne.State; intent: OddOne.Intent; label: OddOne.Label };
                }

                /** Odd * / names. */
                export namespace OddOne {
                  export interface State {
                    list: SourceTestsList;
                    open?: unknown;
                  }

                  export type Intent =
                    | { type: "default"; in: number; class?: string }
                    | { type: "string"; value: string }
                    | { type: "json"; value: unknown };

                  export type Label = never;

                  export type Level = "name" | "self" | "two words";

                  export interface SourceTestsList {
                    "all-items": (Level | null)[];
                    next?: Step;
                  }

                  export type Step = 1 | 9;
                }

                """)
    }

    @Test func `Kotlin: keywords are escaped, and no class hides a type`() {
        let source = KotlinTypes.source(shapes, maker: "test")
        #expect(
            source.contains(
                "data class Default(\n            val `in`: Long,\n            val `class`: String? = null,"))
        #expect(source.contains("@Serializable @SerialName(\"string\")\n        data class StringCase("))
        #expect(source.contains("@SerialName(\"all-items\") val allItems: List<OddOne.Level?>,"))
        #expect(source.contains("@SerialName(\"name\") name_,\n        @SerialName(\"self\") self,"))
        #expect(source.contains("@SerialName(\"two words\") twoWords,"))
        #expect(source.contains("@Serializable sealed interface Label\n"))
        #expect(
            source.contains(
                "value class Step(val value: Long) {\n        companion object {\n            val first = Step(1)"))
        #expect(source.contains("val open: JsonElement? = null,"))
        #expect(source.contains("/** Odd * / names. */"))
    }

    @Test func `Swift: keywords are escaped, and other names on the wire are coding keys`() {
        let source = SwiftTypes.source(shapes, maker: "test")
        #expect(source.contains("case `default`(`in`: Int, `class`: String?)"))
        #expect(source.contains("case string(String)"))
        #expect(source.contains("public var allItems: [OddOne.Level?]"))
        #expect(source.contains("case allItems = \"all-items\"\n            case next = \"next\""))
        #expect(source.contains("case name\n        case `self`\n        case twoWords = \"two words\""))
        #expect(source.contains("public typealias Label = Never"))
        #expect(source.contains("public enum Step: Int64,"))
        #expect(source.contains("public enum JSONValue: Codable"))
    }

    @Test func `Swift: what is made of odd names compiles`() throws {
        try typecheck(SwiftTypes.source(shapes, maker: "test"))
    }
}
