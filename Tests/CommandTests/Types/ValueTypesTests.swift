import Foundation
import MVI
import Testing
import WireJSON

@testable import MVIServer

/// A feature whose members are times, decimals, durations, URLs and identifiers.
private struct Values: Feature {
    struct State: Codable, Equatable, Sendable {
        var price: Decimal?
        var prices: [String: Decimal] = [:]
        var pause: Duration = .zero
        var pauses: [Duration?] = []
        var start: Timestamp?
        var times: [Timestamp] = []
        var date: Date?
        var link: URL?
        var id: UUID?
    }
    enum Intent: Codable, Sendable { case pay(Decimal, after: Duration), start(at: Timestamp?) }
    enum Label: Codable, Equatable, Sendable { case paid(Decimal) }

    static let examples: [Intent] = []
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {}
}

/// Values in JSON that types in each language read and write unchanged. `Clients/Kotlin/test-types` holds the types in
/// Kotlin against them.
@Suite("Times, decimals and durations in made types", .timeLimit(.minutes(10)))
struct ValueTypesTests {
    private struct Vectors: Decodable {
        let state: [JSONText]
        let intent: [JSONText]
        let label: [JSONText]
    }

    private static func path(_ name: String) -> String {
        "\(#filePath)".replacing(#/\/Types\/[^\/]*$/#, with: "/Types/Files/\(name)")
    }

    private func types() throws -> FeatureTypes {
        try FeatureTypes(ServerContent(features: [ServedFeature(Values())]))
    }

    @Test func `equal the file in Types/Files`() throws {
        let (path, made) = (Self.path("values.kt"), try types().source(in: .kotlin))
        if ProcessInfo.processInfo.environment["MVI_RENEW_FILES"] != nil {
            try made.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == made)
    }

    @Test func `the values stay the same in Swift`() throws {
        let text = try String(contentsOfFile: Self.path("values.json"), encoding: .utf8)
        let vectors = try WireJSON.decode([String: Vectors].self, from: Array(text.utf8))
        let values = try #require(vectors["values"])
        func again<T: Codable>(_ type: T.Type, _ texts: [JSONText]) throws {
            #expect(!texts.isEmpty)
            for text in texts {
                let made = try WireJSON.encode(try WireJSON.decode(type, from: text.bytes))
                #expect(String(decoding: made, as: UTF8.self) == String(decoding: text.bytes, as: UTF8.self))
            }
        }
        try again(Values.State.self, values.state)
        try again(Values.Intent.self, values.intent)
        try again(Values.Label.self, values.label)
    }
}
