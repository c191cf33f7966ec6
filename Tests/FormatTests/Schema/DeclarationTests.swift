import Foundation
import MVI
import Testing

@testable import Schema

/// Two features that use the same types.
@Suite("Types of several features")
struct DeclarationTests {
    private enum Level: String, Codable { case low, high }
    private struct Money: Codable {
        var amount: Decimal
        var level: Level
    }
    private enum Notice: Codable { case toast(text: String), price(Money) }
    private indirect enum Tree: Codable { case leaf(Level), fork([Tree]) }
    private struct Row: Codable { var price: Money }
    private struct Cart: Codable {
        var rows: [Row]
        var tree: Tree
        var wait: Duration
    }
    private struct Order: Codable {
        var total: Money?
        var cart: Cart
        var due: Timestamp
        var link: URL?
    }
    private enum Raise: Codable { case raise(Level) }

    private var shapes: [FeatureShape] {
        [
            FeatureShape(
                name: "cart", isKeyed: false, summary: "A cart.", state: Cart.self, intent: Raise.self,
                label: Notice.self),
            FeatureShape(
                name: "order", isKeyed: true, summary: "", state: Order.self, intent: Never.self, label: Notice.self),
        ]
    }

    @Test func `TypeScript: are declared once`() {
        #expect(
            TypeScriptTypes.source(shapes, maker: "test").split(separator: "\n").dropFirst(7).joined(separator: "\n")
                == """
                export namespace Cart {
                  export interface State {
                    rows: Shared.Row[];
                    tree: Shared.Tree;
                    wait: number;
                  }
                  export type Intent =
                    | { type: "raise"; value: Shared.Level };
                  export type Label = Shared.Notice;
                }
                export namespace Order {
                  export interface State {
                    total?: Shared.Money;
                    cart: Cart.State;
                    due: string;
                    link?: string;
                  }
                  export type Intent = never;
                  export type Label = Shared.Notice;
                }
                /** Types of several features. */
                export namespace Shared {
                  export type Level = "low" | "high";
                  export interface Money {
                    amount: number;
                    level: Level;
                  }
                  export type Notice =
                    | { type: "toast"; text: string }
                    | { type: "price"; value: Money };
                  export interface Row {
                    price: Money;
                  }
                  export type Tree =
                    | { type: "leaf"; value: Level }
                    | { type: "fork"; value: Tree[] };
                }
                """)
    }

    private func components(_ shapes: [FeatureShape]) -> [[String: String]] {
        JSONSchema.components(of: shapes, prefix: "#/").map { list in
            Dictionary(uniqueKeysWithValues: list.map { ($0.name, String(decoding: $0.schema.bytes(), as: UTF8.self)) })
        }
    }

    @Test func `OpenAPI: are declared once`() throws {
        let lists = components(shapes)
        #expect(
            lists.map { $0.keys.sorted() } == [
                ["cart.Intent", "cart.Label", "cart.State"], ["order.Intent", "order.Label", "order.State"],
                ["Shared.Level", "Shared.Money", "Shared.Notice", "Shared.Row", "Shared.Tree"],
            ])
        #expect(lists[1]["order.Label"] == ##"{"$ref":"#/Shared.Notice"}"##)
        #expect(lists[1]["order.State"]?.contains(##""cart":{"$ref":"#/cart.State"}"##) == true)
        #expect(lists[1]["order.Intent"] == #"{"not":{}}"#)
        let money = try #require(lists[2]["Shared.Money"])
        #expect(money.contains(##""level":{"$ref":"#/Shared.Level"}"##))
        #expect(components([shapes[0]]).map(\.count) == [7])
    }

    @Test func `OpenAPI: null is an absent member of a type that one of the features is sent`() {
        struct Note: Codable { var text: String? }
        enum Write: Codable { case write(Note) }
        func feature(_ name: String, _ intent: any Decodable.Type) -> FeatureShape {
            FeatureShape(
                name: name, isKeyed: false, summary: "", state: [Note].self, intent: intent, label: Never.self)
        }
        let features = [feature("f0", Never.self), feature("f1", Write.self)]
        let null = #"{"type":"object","properties":{"text":{"type":["string","null"]}}}"#
        #expect(components(features).last == ["Shared.Note": null])
        let absent = #"{"type":"object","properties":{"text":{"type":"string"}}}"#
        #expect(components([features[0]])[0]["f0.Note"] == absent)
    }

    @Test func `Swift: are declared once, with dates, decimals, durations and URLs`() {
        let source = SwiftTypes.source(shapes, maker: "test")
        for line in [
            "import Foundation", "public typealias Label = Shared.Notice",
            "public var cart: Cart.State",
            "public var amount: Decimal", "public var due: Date", "public var link: URL?", "public var wait: Duration",
            "case raise(Shared.Level)", "public indirect enum Tree: Codable, Hashable, Sendable {",
        ] { #expect(source.contains(line), "\(line)") }
        for name in ["struct Money", "enum Level", "enum Notice", "enum Tree"] {
            #expect(source.matches(of: try! Regex(name)).count == 1, "\(name)")
        }
    }

    @Test func `Swift: types without Foundation's do not import it`() {
        #expect(!SwiftTypes.source([shape(Level.self)], maker: "test").contains("import"))
    }

    @Test func `Kotlin: are declared once, with instants, decimals and durations`() {
        let source = KotlinTypes.source(shapes, maker: "test")
        for line in [
            "@file:UseSerializers(DecimalSerializer::class, SecondsSerializer::class, InstantSerializer::class)",
            "import java.time.Instant", "val amount: BigDecimal,",
            "val due: Instant,", "val wait: Duration,", "val link: String? = null,", "val level: Shared.Level,",
            "val cart: Cart.State,",
            "@Serializable @JvmInline value class Label(val value: Shared.Notice)",
        ] { #expect(source.contains(line), "\(line)") }
        #expect(source.matches(of: #/class Money\(/#).count == 1)
        let plain = KotlinTypes.source([shape(Level.self)], maker: "test")
        #expect(!plain.contains("UseSerializers") && !plain.contains("import java"))
    }

    @Test func `open enums are open for all features if one receives them`() {
        let swift = SwiftTypes.source(shapes, maker: "test", isOpen: true)
        #expect(swift.matches(of: #/case unknown\(String\)/#).count == 1)
        let kotlin = KotlinTypes.source(shapes, maker: "test", isOpen: true)
        #expect(
            kotlin.contains(
                "polymorphicDefaultDeserializer(Shared.Notice::class) { Shared.Notice.Unknown.serializer() }"))
    }

    @Test func `a feature called shared keeps its name`() {
        let odd = FeatureShape(
            name: "shared", isKeyed: false, summary: "", state: Money.self, intent: Never.self, label: Notice.self)
        let source = SwiftTypes.source(shapes + [odd], maker: "test")
        #expect(source.contains("public enum Shared {\n    public static let name = \"shared\""))
        #expect(source.contains("public enum Shared2 {\n    public enum Level"))
    }

    @Test func `a state whose namespace a type hides is declared with the others`() throws {
        // The cart of the first feature has rows and a type called Tree.
        let other = FeatureShape(
            name: "tree", isKeyed: false, summary: "", state: Row.self, intent: Never.self, label: Never.self)
        let source = SwiftTypes.source([shapes[0], other], maker: "test")
        #expect(source.contains("public typealias State = Shared.Row"))
        try typecheck(source)
    }

    @Test(arguments: [false, true])
    func `Swift: compile`(isOpen: Bool) throws {
        try typecheck(SwiftTypes.source(shapes, maker: "test", isOpen: isOpen))
    }
}
