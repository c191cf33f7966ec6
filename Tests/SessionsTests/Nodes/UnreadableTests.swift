import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Two builds of a feature whose states have one schema version, and which cannot read each other's.
private struct NumberShelf: Feature {
    struct State: Codable, Equatable, Sendable { var value = 1 }
    enum Intent: Codable, Sendable { case work }
    enum Message: Codable, Sendable { case more }
    static let examples: [Intent] = [.work]
    static let name = "shelf"
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.more)
        turn.launch { work in try await work.sleep(for: .seconds(1_000_000)) }
    }

    func reduce(_ state: inout State, _ message: Message) { state.value += 1 }
}

private struct TextShelf: Feature {
    struct State: Codable, Equatable, Sendable { var value = "a" }
    enum Intent: Codable, Sendable { case work }
    enum Message: Codable, Sendable { case more }
    static let examples: [Intent] = [.work]
    static let name = "shelf"
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.more) }
    func reduce(_ state: inout State, _ message: Message) { state.value += "b" }
}

@Suite("A state that this node cannot read, of a session that another one owns", .timeLimit(.minutes(10)))
struct UnreadableTests {
    private let shelf = FeatureID(name: "shelf", key: nil)

    /// Returns two nodes with the session on each; the first owns it.
    private func nodes() throws -> (tables: [SessionTable], owners: Session, other: Session, time: ManualTime) {
        let (kept, cluster, time) = (MemoryJournal(), NodeJournal.Cluster(), ManualTime())
        let tables = try [FeatureDefinition(NumberShelf()), FeatureDefinition(TextShelf())].map { definition in
            SessionTable(
                environment: SessionEnvironment(
                    features: try FeatureRegistry([definition, FeatureDefinition(Tally())]),
                    journal: NodeJournal(kept, cluster), time: time.source, clock: ManualClock()))
        }
        for table in tables { table.listen() }
        for _ in 0..<3 {
            time.advance(by: .seconds(1))
            beat(tables)
        }
        let (session, token) = try tables[0].made(.bearer)
        #expect(try session.told(#"{"type":"add","amount":1}"#, to: FeatureID(name: "tally", key: nil)) == "ran")
        #expect(try session.told(#"{"type":"work"}"#, to: shelf) == "ran")
        #expect(session.core.withLock { $0.ownsWork })
        return (tables, session, try tables[1].live(token), time)
    }

    private func beat(_ tables: [SessionTable]) {
        for (number, table) in tables.enumerated() { table.beat(at: "node-\(number):1") }
    }

    @Test("a read says that the owner is to be asked")
    func read() throws {
        let nodes = try nodes()
        // Endless work ends with the session.
        defer { nodes.other.end(.ended) }
        let answer = Box<Result<StateSnapshot, StoreError>>()
        nodes.other.state(of: shelf) { answer.set($0) }
        #expect(answer.value?.code == .elsewhere)
        #expect(nodes.other.queue.isIdle)
    }

    @Test("a stream that names it says the same, and one of everything shows the others")
    func streams() throws {
        let nodes = try nodes()
        expectError(.elsewhere) { try nodes.other.opened(.features([shelf]), from: .now) }
        let stream = try nodes.other.opened(.all, from: .now)
        #expect(try stream.read().named("state").map { try $0.json.feature } == ["tally"])
    }

    @Test("is set aside when its owner is gone")
    func ownerGone() throws {
        let nodes = try nodes()
        _ = Result { try nodes.other.stateNow(of: shelf) }
        nodes.tables[0].leaveNodes {}
        for _ in 0..<3 {
            nodes.time.advance(by: .seconds(1))
            nodes.tables[1].beat(at: "node-1:1")
        }
        #expect(try nodes.other.text(shownOf: shelf).contains(#""value":"a""#))
    }
}
