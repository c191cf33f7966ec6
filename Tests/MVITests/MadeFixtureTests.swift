import Foundation
import MVI
import MVITesting
import Testing
import WireJSON

@Suite("Fixtures that a test makes", .timeLimit(.minutes(10)))
struct MadeFixtureTests {
    @Test("54: a recording that another encoder writes is one that a fixture reads, with every number exact")
    func otherCoders() throws {
        let state = Sum.State(
            total: .max, least: .min, share: 0.1, text: "é\"\u{1F600}\\", none: nil, flags: [true, false],
            names: ["a": [1, 2], "type": []], last: .add(amount: 3))
        let recording = TurnRecording<Sum>(
            intent: "i", cause: .add(amount: 3), actions: [], messages: [.add(amount: 3)], state: state, labels: [])
        let json = try JSONEncoder().encode(recording)
        let own = try WireJSON.decode(TurnRecording<Sum>.self, from: Array(json))
        #expect(own.state == state && own.messages == [.add(amount: 3)] && own.cause == .add(amount: 3))
        #expect(try JSONDecoder().decode(TurnRecording<Sum>.self, from: json).state == state)
        let fixture = try Fixture(
            Array(#"{"format":"mvi-session/1","stores":[],"turns":[{"sequence":5,"feature":"sum","recording":"#.utf8)
                + Array(json) + Array("}]}".utf8))
        #expect(try fixture.replay(Sum(factor: 1)) == [state])
        #expect(String(decoding: json, as: UTF8.self).contains(#""none":null"#))
    }

    @Test("54: values that JSON cannot hold, and texts that are no recording, are errors of the coder that was asked")
    func errors() throws {
        let broken = TurnRecording<Sum>(
            intent: "i", cause: nil, actions: [], messages: [], state: Sum.State(share: .nan), labels: [])
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(broken) }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(TurnRecording<Sum>.self, from: Data(#"{"intent":5}"#.utf8))
        }
    }
}

/// A feature whose state has a value of each kind.
private struct Sum: Feature {
    enum Intent: Codable, Equatable, Sendable { case add(amount: UInt64) }
    struct State: Codable, Equatable, Sendable {
        var total: UInt64 = 0
        var least: Int64 = 0
        var share = 0.5
        var text = ""
        var none: Int?
        var flags: [Bool] = []
        var names: [String: [Int]] = [:]
        var last: Intent?
    }
    static let examples: [Intent] = [.add(amount: 1)]
    let initialState = State()
    let factor: UInt64

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .add(let amount) = intent { state.total += amount * factor }
    }
}
