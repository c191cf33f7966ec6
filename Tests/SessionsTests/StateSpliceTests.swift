import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A large state of which each turn changes a little.
private struct Rows: Feature {
    struct State: Codable, Equatable, Sendable {
        var rows = (0..<500).map { "row \($0) of the ledger — ä" }
        var count = 0
    }
    enum Intent: Codable, Sendable { case write(row: Int, text: String), look }
    enum Message: Codable, Sendable { case wrote(row: Int, text: String) }
    static let examples: [Intent] = [.write(row: 1, text: "x"), .look]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .write(let row, let text) = intent { turn.dispatch(.wrote(row: row, text: text)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        guard case .wrote(let row, let text) = message else { return }
        state.rows[row] = text
        state.count += 1
    }
}

@Suite("Recordings with parts of states")
struct StateSpliceTests {
    @Test func `a splice gives the new text to the byte, also at characters of several bytes`() {
        var random = SplitMix(seed: 35)
        let letters = ["a", "b", "ä", "—", "🙂", "\"", "\\", "1"]
        func text() -> [UInt8] {
            // Long enough for blocks, with repetitions.
            Array((0..<Int(random.next() % 200)).map { _ in letters[Int(random.next() % 8)] }.joined().utf8)
        }
        for _ in 0..<5_000 {
            let (old, new) = (text(), text())
            // Another text, or the same with some other places.
            for changed in [new, text() + old[..<(old.count / 2)] + new + old[(old.count / 2)...]] {
                guard let changed = String(validating: changed, as: UTF8.self).map({ Array($0.utf8) }) else { continue }
                let splice = StateSplice(from: old, to: changed, base: 1)
                #expect(splice.applied(to: old) == changed)
            }
        }
    }

    private let rows = FeatureID(name: "rows", key: nil)

    private func table(_ journal: HeldJournal, bytes: Int) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 1_000, bytes: bytes)
        limits.recordingDelay = .zero
        return SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Rows())]), limits: limits, journal: journal,
                time: ManualTime().source, clock: ManualClock()))
    }

    @Test func `many turns of a large state fit, and an export has whole states of each`() async throws {
        let journal = HeldJournal(MemoryJournal())
        let table = try table(journal, bytes: 200_000)
        let (session, _) = try table.made(.bearer)
        for number in 0..<100 {
            _ = try session.told(#"{"type":"write","row":\#(number),"text":"changed — \#(number)"}"#, to: rows)
            _ = try session.told(#"{"type":"look"}"#, to: rows)
            guard number == 50 else { continue }
            // A commit that fails is no part of the recording, and the next turn does not build on it.
            journal.fail(.unavailable)
            _ = try session.told(#"{"type":"write","row":0,"text":"lost"}"#, to: rows)
            journal.fail(nil)
        }
        let stored = try #require(
            try await awaitResult { journal.export(session.id, done: $0) }.get())
        let size = stored.turns.reduce(0) { $0 + $1.recording.count }
        let whole = try #require(try await table.export(session.id)).turns
        let states = try whole.map { try WireJSON.decode(TurnRecording<Rows>.self, from: $0.recording).state }
        #expect(size <= 200_000 && stored.turns.count > 100)
        // Those before the first whole state are left out.
        #expect(
            whole.count > stored.turns.count - 16 && whole.last?.number == stored.turns.last?.number
        )
        let bytes = whole.reduce(0) { $0 + $1.recording.count }
        #expect(bytes > 5 * size, "\(size) bytes instead of \(bytes)")
        #expect(states.last?.count == 100 && !states.contains { $0.rows[0] == "lost" })
        for (before, after) in zip(states, states.dropFirst()) { #expect(after.count - before.count <= 1) }
    }

    @Test func `without a limit of bytes all recordings have whole states`() async throws {
        let journal = HeldJournal(MemoryJournal())
        let (session, _) = try table(journal, bytes: .max).made(.bearer)
        for number in 0..<3 { _ = try session.told(#"{"type":"write","row":\#(number),"text":"x"}"#, to: rows) }
        let stored = try #require(try await awaitResult { journal.export(session.id, done: $0) }.get())
        #expect(RecordingText.whole(stored.turns) == stored.turns && stored.turns.count >= 3)
    }

    private func export(_ table: SessionTable, _ session: Session) async throws -> (kept: Int, whole: [RecordedTurn]) {
        let stored = try #require(
            try await awaitResult { table.environment.journal.export(session.id, done: $0) }.get())
        return (stored.turns.count, stored.whole.turns)
    }

    @Test(arguments: [1, 5, 10, 20])
    func `nearly all kept turns can be read, whatever the number of stores`(stores: Int) async throws {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 100, bytes: 8 << 20)
        limits.recordingDelay = .zero
        limits.intentRate = nil
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(keyed: { _, _ in Rows() })]), limits: limits,
                journal: MemoryJournal(), time: ManualTime().source, clock: ManualClock()))
        let (session, _) = try table.made(.bearer)
        for turn in 0..<200 {
            let store = FeatureID(name: "rows", key: "\(turn % stores)")
            _ = try session.told(#"{"type":"write","row":1,"text":"\#(turn)"}"#, to: store)
        }
        let turns = try await export(table, session)
        #expect(turns.kept == 100 && turns.whole.count >= 100 - Int(RecordedState.interval(limits.recordings)))
    }

    @Test func `a turn that is larger than all that is kept is left out by itself, and says so`() async throws {
        let table = try table(HeldJournal(MemoryJournal()), bytes: 40_000)
        let (session, _) = try table.made(.bearer)
        for row in 0..<10 { _ = try session.told(#"{"type":"write","row":\#(row),"text":"small"}"#, to: rows) }
        let large = String(repeating: "x", count: 40_000)
        _ = try session.told(#"{"type":"write","row":1,"text":"\#(large)"}"#, to: rows)
        for _ in 0..<3 { _ = try session.told(#"{"type":"look"}"#, to: rows) }
        let during = try await export(table, session)
        #expect(during.kept > 10 && during.whole.count == during.kept)
        let last = try #require(during.whole.last).recording
        let fault = String(decoding: last, as: UTF8.self)
        #expect(fault.contains("more than the 40000 of all that are kept"), "\(fault)")
        _ = try session.told(#"{"type":"write","row":1,"text":"small"}"#, to: rows)
        _ = try session.told(#"{"type":"write","row":2,"text":"smaller"}"#, to: rows)
        let after = try await export(table, session).whole
        #expect(
            try WireJSON.decode(TurnRecording<Rows>.self, from: try #require(after.last).recording).state.rows[2]
                == "smaller")
    }
}
