import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

/// A feature with a member that was renamed.
private enum Basket {
    enum Intent: Codable, Sendable { case add, look }

    struct Before: Feature {
        struct State: Codable, Equatable, Sendable {
            var items = 0
            var note: String? = "mine"
        }
        static let name = "basket"
        static let examples: [Intent] = [.add, .look]
        let initialState = State()
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(intent) }
        func reduce(_ state: inout State, _ message: Intent) { state.items += 1 }
    }

    struct After: Feature {
        struct State: Codable, Equatable, Sendable {
            var items = 0
            var remark: String?
        }
        enum Label: Codable, Equatable, Sendable { case looked }
        static let name = "basket"
        static let examples: [Intent] = [.add, .look]
        static let labelExamples: [Label] = [.looked]
        let initialState = State()
        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            switch intent {
            case .add: turn.dispatch(intent)
            case .look: turn.publish(.looked)
            }
        }
        func reduce(_ state: inout State, _ message: Intent) { state.items += 1 }
    }
}

/// A feature whose migration omits a member of the older state.
private struct Moved: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    private struct Old: Decodable { let items: Int }
    enum Intent: Codable, Sendable { case add, look }
    static let name = "basket"
    static let examples: [Intent] = [.add, .look]
    static let schemaVersion = 2
    static let migrations = [Migration<State>(from: 1, Old.self) { State(count: $0.items) }]
    let initialState = State()
    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { if case .add = intent { turn.dispatch(intent) } }
    func reduce(_ state: inout State, _ message: Intent) { state.count += 1 }
}

@Suite("65: members that a feature's state no longer reads")
struct LostMemberTests {
    let journal = MemoryJournal()
    let reports = Lock<[String]>([])
    private let basket: FeatureID

    init() throws { basket = try #require(FeatureID("basket")) }

    private func table(_ feature: FeatureDefinition) throws -> SessionTable {
        try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([feature]), journal: journal, time: ManualTime().source, clock: ManualClock(),
                report: { [reports] report in
                    guard case .membersUnread(let members, let instance) = report else { return }
                    reports.withLock { $0.append("\(instance) \(members.joined(separator: ","))") }
                }))
    }

    private func run(_ intent: String, in session: Session) throws {
        let answer = Box<IntentResult>()
        session.send(IntentRequest(body: Array(#"{"type":"\#(intent)"}"#.utf8)), to: basket) { answer.set($0) }
        _ = try #require(answer.value, "the answer was to come at once").get()
    }

    private func exported(_ session: Session) throws -> SessionExport {
        let export = Box<SessionExport?>()
        journal.export(session.id) { export.set(try? $0.get()) }
        return try #require(export.value ?? nil)
    }

    @Test("the first state with such members is reported with their names, and each is set aside when it changes")
    func setAside() throws {
        let before = try table(FeatureDefinition(Basket.Before()))
        let made = try (0..<2).map { _ in try before.made(.bearer) }
        for (session, _) in made { try run("add", in: session) }

        let after = try table(FeatureDefinition(Basket.After()))
        for (_, token) in made {
            let session = try after.live(token)
            #expect(
                String(decoding: try session.stateNow(of: basket).view, as: UTF8.self) == #"{"items":1}"#)
            // Nothing is lost yet: a turn that does not change the state leaves the stored one unchanged.
            try run("look", in: session)
            #expect(try exported(session).setAside.isEmpty)
            try run("add", in: session)
            try run("add", in: session)
            let export = try exported(session)
            #expect(
                export.setAside.map { String(decoding: $0.state, as: UTF8.self) } == [#"{"items":1,"note":"mine"}"#])
            #expect(export.setAside.map(\.reason) == ["the feature's state does not read these members of it: /note"])
            #expect(export.stores.map { String(decoding: $0.state, as: UTF8.self) } == [#"{"items":3,"remark":null}"#])
        }
        #expect(reports.withLock { $0 } == ["basket /note"])

        // After the next restart there is nothing to report.
        let again = try table(FeatureDefinition(Basket.After()))
        for (_, token) in made {
            let session = try again.live(token)
            try run("add", in: session)
            #expect(try exported(session).setAside.count == 1)
        }
        #expect(reports.withLock { $0.count } == 1)
    }

    @Test("members that a migration does not read are reported, and the old state is set aside")
    func migrated() throws {
        let (session, token) = try table(FeatureDefinition(Basket.Before())).made(.bearer)
        try run("add", in: session)
        let moved = try table(FeatureDefinition(Moved())).live(token)
        #expect(String(decoding: try moved.stateNow(of: basket).view, as: UTF8.self) == #"{"count":1}"#)
        for _ in 0..<2 { try run("add", in: moved) }
        let export = try exported(moved)
        #expect(export.setAside.map { String(decoding: $0.state, as: UTF8.self) } == [#"{"items":1,"note":"mine"}"#])
        #expect(export.setAside.map(\.schemaVersion) == [1])
        #expect(export.stores.map { String(decoding: $0.state, as: UTF8.self) } == [#"{"count":3}"#])
        #expect(reports.withLock { $0 } == ["basket /note"])
    }

    @Test("a state of another writer's newer code, adopted while in memory, is set aside too")
    func adopted() throws {
        let after = try table(FeatureDefinition(Basket.After()))
        let (session, token) = try after.made(.bearer)
        try run("add", in: session)
        // Another server on the same journal, whose code has the member.
        let other = try table(FeatureDefinition(Basket.Before())).live(token)
        try run("add", in: other)
        // Its commit causes a conflict here: the turn runs again on the newer state.
        try run("add", in: session)
        let export = try exported(session)
        #expect(export.setAside.map { String(decoding: $0.state, as: UTF8.self) } == [#"{"items":2,"note":"mine"}"#])
        #expect(reports.withLock { $0 }.contains("basket /note"))
    }
}
