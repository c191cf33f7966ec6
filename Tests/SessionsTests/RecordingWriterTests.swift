import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A journal in memory that holds or fails what is recorded.
private final class RecordGate: InterposedJournal {
    private struct State {
        var isHolding = false
        var failure: StoreError?
        var held: [@Sendable () -> Void] = []
    }

    let base: any Journal = MemoryJournal()
    private let state = Lock(State())

    func hold() { state.withLock { $0.isHolding = true } }

    func fail(_ failure: StoreError?) { state.withLock { $0.failure = failure } }

    var held: Int { state.withLock { $0.held.count } }

    func release() {
        let held = state.withLock { state in
            defer { (state.isHolding, state.held) = (false, []) }
            return state.held
        }
        for body in held { body() }
    }

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        guard operation == .record else { return body(done) }
        let (isHeld, failure) = state.withLock { state in
            if state.isHolding { state.held.append { body(done) } }
            return (state.isHolding, state.failure)
        }
        if isHeld { return }
        if let failure { done(.failure(failure)) } else { body(done) }
    }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        base.append(batch, done: done)
    }
}

/// A state of which each turn changes a little.
private struct Registry: Feature {
    struct State: Codable, Equatable, Sendable {
        var rows = (0..<100).map { "row \($0) of the registry" }
    }
    enum Intent: Codable, Sendable { case write(row: Int) }
    enum Message: Codable, Sendable { case wrote(row: Int) }
    static let examples: [Intent] = [.write(row: 1)]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .write(let row) = intent { turn.dispatch(.wrote(row: row)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .wrote(let row) = message { state.rows[row] += "!" }
    }
}

@Suite("55: recordings beside the commits")
struct RecordingWriterTests {
    private let journal = RecordGate()
    private let clock = ManualClock()
    private let executor = TestExecutor()
    private let reports = Lock<[String]>([])
    private let registry = FeatureID(name: "registry", key: nil)

    private func table(_ limit: RecordingLimit = RecordingLimit(turns: 1_000, bytes: 1 << 20)) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.recordings = limit
        limits.intentRate = nil
        return SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Registry())]), limits: limits, journal: journal,
                time: ManualTime().source, clock: clock, executor: executor,
                report: { [reports] report in
                    guard case .recordingsLost(let count, let error) = report else { return }
                    reports.withLock { $0.append("\(count) \(error?.detail ?? "too slow")") }
                }))
    }

    private func write(_ row: Int, in session: Session) throws {
        _ = try session.told(#"{"type":"write","row":\#(row)}"#, to: registry)
    }

    /// The turns that the journal has, as it has them.
    private func kept(_ session: Session) async throws -> [RecordedTurn] {
        try #require(try await awaitResult { journal.export(session.id, done: $0) }.get()).turns
    }

    @Test func `they are written a second later, and the commit does not wait`() async throws {
        let (session, _) = try table().made(.bearer)
        for row in 0..<3 { try write(row, in: session) }
        await executor.idle()
        #expect(try await kept(session).isEmpty)
        clock.advance(by: .seconds(1))
        await executor.idle()
        #expect(try await kept(session).count == 4)
        try write(4, in: session)
        await executor.idle()
        #expect(try await kept(session).count == 4)
        clock.advance(by: .seconds(1))
        await executor.idle()
        #expect(try await kept(session).count == 5)
    }

    @Test func `they are written before they are read, and before the server stops`() async throws {
        let table = try table()
        let (session, _) = try table.made(.bearer)
        try write(1, in: session)
        #expect(try await table.export(session.id)?.turns.count == 2)
        try write(2, in: session)
        await table.flush()
        #expect(try await kept(session).count == 3)
    }

    @Test func `a turn that waits while others are written is written in the next round`() async throws {
        let table = try table()
        let (session, _) = try table.made(.bearer)
        journal.hold()
        try write(1, in: session)
        async let first: Void = table.writeRecordings()
        while journal.held == 0 { await Task.yield() }
        // Its second is over while the first round runs.
        try write(2, in: session)
        await executor.idle()
        clock.advance(by: .seconds(2))
        await executor.idle()
        #expect(journal.held == 1)
        journal.release()
        await first
        #expect(try await kept(session).count == 3)
    }

    @Test func `of a commit that failed nothing is recorded`() async throws {
        let kept = HeldJournal(MemoryJournal())
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 9)
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Registry())]), limits: limits, journal: kept,
                time: ManualTime().source, clock: ManualClock()))
        let (session, _) = try table.made(.bearer)
        try write(1, in: session)
        kept.fail(.unavailable)
        _ = try? session.told(#"{"type":"write","row":2}"#, to: registry)
        kept.fail(nil)
        try write(3, in: session)
        let turns = try #require(try await table.export(session.id)).turns
        let texts = turns.map { String(decoding: $0.recording, as: UTF8.self) }
        #expect(texts.count == 3 && !texts.contains { $0.contains(#""row":2"#) })
    }

    @Test func `what a journal refuses is lost and reported, and what comes after it can be read`() async throws {
        let table = try table()
        let (session, _) = try table.made(.bearer)
        for row in 0..<3 { try write(row, in: session) }
        await table.writeRecordings()
        journal.fail(StoreError(.unavailable, "The disk is full."))
        for row in 3..<5 { try write(row, in: session) }
        await table.writeRecordings()
        journal.fail(nil)
        #expect(reports.withLock { $0 } == ["2 The disk is full."])
        for row in 5..<8 { try write(row, in: session) }
        let turns = try #require(try await table.export(session.id)).turns
        #expect(turns.map(\.number) == [1, 2, 3, 4, 7, 8, 9])
        #expect(try await kept(session).map(\.recording.count).max().map { $0 < 5_000 } == true)
    }

    @Test func `much that waits is written before its second is over, and nothing of it is lost`() async throws {
        let writer = RecordingWriter(
            journal, delay: .seconds(1), clock: clock, executor: executor,
            report: { [reports] _ in
                reports.withLock { $0.append("lost") }
            })
        let (session, _) = try table(RecordingLimit(turns: 1_000, bytes: 100 << 20)).made(.bearer)
        try write(1, in: session)
        let key = try #require(session.core.withLock { $0.key })
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        for number in 10..<70 as Range<UInt64> {
            let turn = RecordedTurn(number: number, feature: registry, time: .zero, recording: megabyte)
            writer.add([WitnessedTurn(turn: turn, state: nil)], of: key, RecordingLimit(turns: 1_000))
            await executor.idle()
        }
        #expect(try await kept(session).count == 60 && reports.withLock { $0 }.isEmpty)
    }

    @Test func `what a slow journal leaves waiting is bounded`() async throws {
        let writer = RecordingWriter(
            journal, delay: .seconds(1), clock: clock, executor: executor,
            report: { [reports] report in
                if case .recordingsLost(let count, _) = report { reports.withLock { $0.append("\(count)") } }
            })
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        let turns = (1...40 as ClosedRange<UInt64>).map { number in
            WitnessedTurn(
                turn: RecordedTurn(number: number, feature: registry, time: .zero, recording: megabyte), state: nil)
        }
        writer.add(turns, of: SessionKey(1), RecordingLimit(turns: 9))
        await awaitResult { done in writer.flush { done(()) } }
        #expect(reports.withLock { $0 } == ["8"])
    }

    @Test func `turns of two nodes can be read, whichever recorded the ones between`() throws {
        var (here, there) = (RecordedStates(), RecordedStates())
        let limit = RecordingLimit(turns: 1_000, bytes: 1 << 20)
        var state = Registry.State()
        var (written, whole): ([RecordedTurn], [RecordedTurn]) = ([], [])
        for number in 1...40 as ClosedRange<UInt64> {
            state.rows[Int(number)] += "!"
            let text = try WireJSON.encode(state)
            let turn = RecordedTurn(
                number: number, feature: registry, time: .zero,
                recording: Array(#"{"intent":"i","state":"#.utf8) + text + [UInt8(ascii: "}")])
            whole.append(turn)
            let witnessed = WitnessedTurn(turn: turn, state: text)
            // Three turns here, two there.
            written.append(
                number % 5 < 3
                    ? here.spliced(witnessed, of: SessionKey(1), limit)
                    : there.spliced(witnessed, of: SessionKey(1), limit))
        }
        #expect(written.filter { $0.recording.count < 1_000 }.count > 30)
        let isAll = RecordingText.whole(written) == whole
        #expect(isAll)
        // From a number on all can be read that an export reads for it.
        for number in 17...40 {
            let part = RecordingText.whole(Array(written[(number - RecordedState.longestInterval - 1)...]))
            let isRest = part.suffix(41 - number) == whole.suffix(41 - number)
            #expect(isRest, "from \(number)")
        }
    }
}
