import MVI
import Testing
import WireJSON

@Suite("Claims")
struct ClaimTests {
    /// Swift's texts are equal where Unicode calls them equivalent.
    private static let pairs: [(String, String)] = [("K", "\u{212A}"), ("\u{E9}", "e\u{301}"), ("\u{C5}", "\u{212B}")]

    @Test("names that differ in a byte are two, however a principal is made, kept and read", arguments: pairs)
    func names(_ first: String, _ second: String) throws {
        #expect(first == second)
        let made = Principal(
            subject: "anna",
            claims: [ClaimName(first): "low", ClaimName(second): "high", "in": ["\(first)": 1]])
        let kept = try WireJSON.encode(made)
        let read = try WireJSON.decode(Principal.self, from: kept)
        #expect(read == made)
        #expect(try WireJSON.encode(read) == kept)
        for principal in [made, read] {
            #expect(principal.claims.count == 3)
            #expect(principal.claim(first) == "low")
            #expect(principal.claim(second) == "high")
        }
        let one = Principal(subject: "anna", claims: [ClaimName(second): "high"])
        #expect(one.claim(first) == nil)
        struct Claims: Decodable { var K: String? }
        #expect(try one.claims(as: Claims.self).K == nil)
    }

    @Test("texts that differ in a byte are two values", arguments: pairs)
    func values(_ first: String, _ second: String) {
        let (one, other) = (ClaimValue.string(first), ClaimValue.string(second))
        #expect(one != other && one == .string(first))
        #expect(Set([one, other]).count == 2)
        #expect(!ClaimValue.array([one]).contains(other) && ClaimValue.array([one]).contains(one))
        #expect(ClaimValue.object([ClaimName(first): 1]) != .object([ClaimName(second): 1]))
        #expect(Principal(subject: "a", claims: ["x": one]) != Principal(subject: "a", claims: ["x": other]))
        #expect(Principal(subject: first) != Principal(subject: second))
    }

    @Test("every kind of value is equal to itself, and to none of another kind")
    func kinds() throws {
        let all: [ClaimValue] = [.null, true, false, 1, 0.5, "1", [], [1], [:], ["a": 1], ["a": .null]]
        for (place, value) in all.enumerated() {
            for (other, candidate) in all.enumerated() { #expect((value == candidate) == (place == other)) }
            #expect(try WireJSON.decode(ClaimValue.self, from: WireJSON.encode(value)) == value)
        }
        #expect(Set(all).count == all.count)
    }
}
