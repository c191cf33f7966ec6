import Foundation
import MVI
import MVITesting
import Testing

/// A shop's order that reads the cart, uses time and chance, sends, publishes and launches.
private struct ReplayedOrder: Feature {
    struct State: Codable, Equatable, Sendable { var orders: [String] = [] }
    enum Intent: Codable, Equatable, Sendable { case place, forget, pay }
    enum Action: Codable, Equatable, Sendable { case expire }
    enum Message: Codable, Equatable, Sendable { case placed(String), expired }
    enum Label: Codable, Equatable, Sendable { case placed(count: Int) }

    static let name = "order"
    static let examples: [Intent] = [.place, .forget, .pay]
    static let labelExamples: [Label] = [.placed(count: 1)]
    let initialState = State()
    /// What the build of a test changed.
    var fault = ""
    var isRecording = false

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        if intent == .forget { return turn.send(.expire) }
        if intent == .pay {
            if fault != "refusal" { throw Refusal(.conflict, code: "paid", "It is paid.") }
            return
        }
        if fault == "outcome" { throw Refusal(.conflict, code: "closed", "The shop is closed.") }
        let count = try turn.view(of: ReplayedBasket.self).count + (fault == "read" ? 1 : 0)
        turn.dispatch(.placed("\(count) at \(turn.now) by \(turn.principal?.subject ?? "nobody") \(turn.uuid())"))
        turn.dispatch(.placed("\(turn.client.locale ?? "-") \(turn.client.timeZone ?? "-") \(turn.viewers.shown)"))
        if fault == "messages" { turn.dispatch(.expired) }
        turn.publish(.placed(count: fault == "labels" ? count + 1 : count))
        turn.publish(.placed(count: 0), to: .session(fault == "directed" ? "other" : "s"))
        if fault != "sends" { turn.send(.clear, to: ReplayedBasket.self) }
        turn.launch(id: fault == "launched" ? "other" : "mail") { [isRecording] _ in
            if !isRecording { Issue.record("launched work ran in a replay") }
        }
        turn.remind(id: "expiry", at: turn.now + .seconds(60), .expire)
    }

    func presence(of viewer: Viewer) -> String? { viewer.sender?.id }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { if fault != "actions" { turn.dispatch(.expired) } }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .placed(let order): state.orders.append(order)
        case .expired: if !state.orders.isEmpty { state.orders.removeFirst(fault == "state" ? state.orders.count : 1) }
        }
    }
}

private struct ReplayedBasket: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Equatable, Sendable { case add, clear }
    static let name = "basket"
    static let examples: [Intent] = [.add, .clear]
    let initialState = State()

    func reduce(_ state: inout State, _ message: Intent) { state.count = message == .add ? state.count + 1 : 0 }
}

@Suite("54: a folder with recorded sessions")
struct ReplayCorpusTests {
    /// A folder with a session of orders, recorded without the work, which a replay must not run.
    private func corpus() async throws -> ReplayCorpus {
        let folder = FileManager.default.temporaryDirectory.path + "/corpus-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = TestStore(
            ReplayedOrder(isRecording: true), principal: Principal(issuer: "i", subject: "ann"),
            others: [OtherStore(ReplayedBasket())],
            exhaustive: false)
        await store.send(.add, to: ReplayedBasket.self)
        await store.look(TestCaller("bob"), TestCaller("eve"))
        await store.send(.place)
        await store.send(.add, to: ReplayedBasket.self)
        let traveler = ClientInfo(locale: "de-DE", timeZone: "Europe/Berlin")
        await store.send(.place, as: TestCaller("ann", principal: Principal(subject: "ann"), client: traveler))
        await store.send(.forget)
        await store.sendRejected(.pay, .conflict, code: "paid")
        await store.advance(by: .seconds(61))
        let json = try await store.fixture().json
        await store.finish()
        try Data(json).write(to: URL(filePath: "\(folder)/a.json"))
        return try ReplayCorpus(folder)
    }

    @Test func `the same features agree, with the recorded time, ids, sender and views, and no work runs`()
        async throws
    {
        let count = try await corpus().replay(ReplayedOrder(), ReplayedBasket())
        // Bootstraps are not run again; two orders, a refusal, an expiry by intent and one by a reminder, and the basket's intents.
        #expect(count.compared >= 8 && count.skipped == 0 && count.turns > count.compared)
    }

    @Test(arguments: [
        "read", "messages", "labels", "directed", "sends", "launched", "actions", "state", "outcome", "refusal",
    ])
    func `what another build does otherwise is found with its turn`(fault: String) async throws {
        let corpus = try await corpus()
        let error = #expect(throws: FixtureError.self) {
            try corpus.replay(ReplayedOrder(fault: fault), ReplayedBasket())
        }
        let text = try #require(error?.description)
        let what = ["read": "messages", "actions": "messages", "refusal": "outcome"][fault] ?? fault
        #expect(text.contains(fault == "state" ? "The state after turn" : "differs in its \(what)"), "\(text)")
        #expect(text.contains("a.json, order"))
    }

    @Test func `a turn that reads a store whose feature is not handed over is skipped, a missing feature is a fault`()
        async throws
    {
        let corpus = try await corpus()
        #expect(try corpus.replay(ReplayedOrder()).skipped == 2)
        let error = #expect(throws: FixtureError.self) { try corpus.replay(Absent()) }
        #expect(error?.description == "No session has a recorded turn of the feature \"absent\".")
    }

    private struct Absent: Feature {
        enum Intent: Codable, Sendable { case go }
        static let examples: [Intent] = [.go]
        let initialState = 0
        func reduce(_ state: inout Int, _ message: Intent) {}
    }
}
