import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("What an answer of the journal says of the log")
struct LogStandingTests {
    private static let token = TokenHash(Array(repeating: 1, count: 32))

    private static func head(_ number: UInt64, _ nonce: UInt64? = nil) -> SessionHead {
        SessionHead(number: number, nonce: nonce ?? number)
    }

    private static func mark(
        _ head: SessionHead, epoch: String = "e", access: UInt64 = 0, token: TokenHash = token
    ) -> SessionMark {
        SessionMark(token: token, head: head, accessChanges: access, epoch: epoch)
    }

    struct Row: Sendable {
        let answer: SessionMark?
        var heads: [SessionHead] = []
        var begun: SessionMark?
        var isUnsaved = false
        let standing: LogStanding
    }

    /// The log has five turns here, and the head (6, 66) is in flight.
    private static let rows = [
        Row(answer: nil, standing: .other),
        Row(answer: mark(head(5)), standing: .known),
        Row(answer: mark(head(5), access: 1), standing: .accessChanged),
        Row(answer: mark(head(5), token: TokenHash(Array(repeating: 2, count: 32))), standing: .other),
        // The log was given another name, with or without turns.
        Row(answer: mark(head(5), epoch: "f"), standing: .renamed),
        Row(answer: mark(head(7), epoch: "f"), heads: [head(5), head(6), head(7)], standing: .renamed),
        Row(answer: mark(head(7), epoch: "f"), heads: [head(6), head(7)], standing: .other),
        // This node named it, and the journal does not know that yet.
        Row(answer: mark(head(5), epoch: "f"), isUnsaved: true, standing: .known),
        Row(answer: mark(head(7), epoch: "f"), heads: [head(5), head(7)], isUnsaved: true, standing: .newer),
        // Others appended.
        Row(answer: mark(head(6)), standing: .newer),
        Row(answer: mark(head(6)), heads: [head(5), head(6)], standing: .newer),
        Row(answer: mark(head(50)), heads: [head(49), head(50)], standing: .newer),
        // Turns were lost, and perhaps others took their numbers.
        Row(answer: mark(head(4)), standing: .other),
        Row(answer: mark(head(5, 55)), standing: .other),
        Row(answer: mark(head(6)), heads: [head(4), head(5, 55), head(6)], standing: .other),
        Row(answer: mark(head(50)), heads: [head(5, 55), head(50)], standing: .other),
        // This node appended after it asked.
        Row(answer: mark(head(3)), begun: mark(head(3)), standing: .known),
        Row(answer: mark(head(4)), begun: mark(head(3)), standing: .known),
        Row(answer: mark(head(2)), begun: mark(head(3)), standing: .other),
        Row(answer: mark(head(3), epoch: "d"), begun: mark(head(3), epoch: "d"), standing: .other),
        Row(answer: mark(head(3)), begun: mark(head(3), epoch: "d"), standing: .other),
        // The append in flight.
        Row(answer: mark(head(6, 66)), standing: .inFlight),
        Row(answer: mark(head(6, 66), epoch: "f"), standing: .other),
    ]

    @Test(arguments: rows.indices) func `one function compares`(index: Int) {
        let row = Self.rows[index]
        var core = SessionCore(epoch: "e", now: .zero)
        (core.head, core.appending, core.epochIsUnsaved) = (Self.head(5), Self.head(6, 66), row.isUnsaved)
        let begun = row.begun ?? core.mark(Self.token)
        #expect(core.standing(of: row.answer, row.heads, since: begun) == row.standing)
    }

    @Test func `states are shown under the log's new name when the journal gives it one`() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let before = try nodes.here.session.stateNow(of: nodes.here.tally)
        nodes.kept.renewEpoch(of: try #require(nodes.here.session.core.withLock { $0.key }), to: "another")
        let after = try nodes.here.session.stateNow(of: nodes.here.tally)
        #expect(after.entityTag == "another.\(before.version)" && after.view == before.view)
    }

    /// Another node may have shown it already.
    @Test func `a read does not show the state before this node's own append that the journal has`() throws {
        let nodes = try NodePair()
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        nodes.hereJournal.holdAnswer()
        let answer = nodes.here.session.send(#"{"type":"add","amount":10}"#, to: nodes.here.tally)
        #expect(try nodes.count(nodes.other).contains(#""count":11"#))
        let read = Box<Result<StateSnapshot, StoreError>>()
        nodes.here.session.state(of: nodes.here.tally) { read.set($0) }
        #expect(read.value == nil)
        nodes.hereJournal.tellAnswer()
        #expect(answer.told == "ran")
        #expect(String(decoding: try #require(read.value).get().view, as: UTF8.self).contains(#""count":11"#))
    }
}
