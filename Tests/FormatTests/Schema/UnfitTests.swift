import Foundation
import Testing

@testable import Schema

@Suite("Types without a sensible JSON")
struct UnfitTests {
    private struct Photo: Codable {
        var bytes: IndexSet
        var title: String
    }
    private struct Key: Hashable, Codable { var id: Int }
    private enum Unit: Int, Codable { case piece, box }
    private enum Named: String, Codable { case small, large }
    private indirect enum Intent: Codable {
        case add(photo: Photo?)
        case both(Intent, Intent)
        case plan(DateComponents)
    }
    private struct State: Codable {
        var albums: [String: [Photo]]
        var again: Photo
        var stock: [Unit: Int]
        var names: [Named: Data]
        var zone: TimeZone
        var fine: [Named: UUID]
        var numbered: [Int: URL]
    }

    @Test func `are named with the places of their members`() {
        let shape = FeatureShape(
            name: "probe", isKeyed: false, summary: "", state: State.self, intent: Intent.self, label: [Key: Bool].self)
        let places = shape.unfitMembers.map { $0.prefix { $0 != ":" } }
        #expect(
            places == [
                "state/albums/*/*/bytes", "state/stock", "state/zone", "intent(add)/photo/bytes",
                "intent(plan)/value", "label",
            ])
        let texts = shape.unfitMembers.joined(separator: "\n")
        #expect(texts.contains("state/albums/*/*/bytes: IndexSet of Foundation has no JSON"))
        #expect(texts.contains("state/zone: TimeZone of Foundation has no JSON that other languages know"))
        #expect(texts.contains("state/stock: a dictionary with keys of the type Unit is a list of keys and values"))
    }

    private struct Fine: Codable {
        var id: UUID
        var date: Date?
        var prices: [String: Decimal]
        var pauses: Set<Duration>
        var urls: [URL?]
        var open: Open
    }
    /// Reads any of two kinds.
    private struct Open: Codable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Int.self)) == nil { _ = try container.decode(String.self) }
        }
        func encode(to encoder: any Encoder) throws {}
    }

    @Test func `are not those that are a text or a number, and not those that an author reads`() {
        #expect(shape(Fine.self, intent: Fine.self).unfitMembers.isEmpty)
    }
}
