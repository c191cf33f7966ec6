import MVITesting
import Observation
import Testing

@testable import MVIClient

@Suite("A store whose intents survived the app", .timeLimit(.minutes(10)))
struct PendingStoreTests {
    struct Count: Codable, Equatable, Sendable { var count: Int }
    enum Step: Codable, Equatable, Sendable { case add(amount: Int) }
    typealias Store = RemoteStore<Count, Step, Never>

    /// A text with intents of the session of a token "t", each with its amount as key.
    private static func text(_ amounts: [Int], lost: Set<Int> = [], until: Duration = .seconds(10_100)) -> String {
        let owner = IntentOwner(group: IntentOwner.group(of: "t"))
        return KeptIntent.text(
            of: amounts.map { amount in
                KeptIntent(
                    key: "\(amount)", feature: "tally", body: Array(#"{"type":"add","amount":\#(amount)}"#.utf8),
                    owner: owner, until: until, mayHaveRun: lost.contains(amount))
            }) ?? ""
    }

    private static func client(
        _ transport: FakeTransport, _ storage: KeptText, abandoned: Collected<WaitingIntent> = Collected()
    ) -> TestClient {
        TestClient(transport, wallTime: .seconds(10_000)) { options in
            options.credentials = MemoryCredentialStorage("t")
            options.pendingStorage = storage
            options.onAbandoned = { intent, _ in abandoned.append(intent) }
        }
    }

    private static func store(_ client: TestClient) -> Store {
        Store("tally", on: client.server) { state, intent in
            if case .add(let amount) = intent { state.count += amount }
        }
    }

    @Test(arguments: [false, true])
    func `shows them again after the first state, but not one that may have run`(isLate: Bool) async throws {
        let (transport, storage) = (FakeTransport(), KeptText(Self.text([1, 20, 300], lost: [1])))
        let client = Self.client(transport, storage)
        var store = isLate ? nil : Self.store(client)
        let first = await transport.request { $0.target.hasSuffix("/intents") }
        #expect(first.request["Idempotency-Key"] == "\"1\"")
        store = store ?? Self.store(client)
        let shown = try #require(store)
        let watching = Task { await shown.watch() }
        let stream = await transport.request { $0.target.hasPrefix("/events") }
        stream.accept()
        stream.state(7, #"{"count":1000}"#)
        await observed { shown.state == Count(count: 1_320) && shown.pending.map(\.id) == ["1", "20", "300"] }
        // A tap goes behind them.
        shown.post(.add(amount: 4_000))
        await observed { shown.state == Count(count: 5_320) && shown.pending.count == 4 }
        first.answer(202, #"{"intent":"1","session":"s1","version":8}"#)
        await observed { shown.state == Count(count: 5_321) }
        let second = await transport.request { $0["Idempotency-Key"] == "\"20\"" }
        second.answer(422, #"{"type":"/problems/intent-refused"}"#, type: "application/problem+json")
        await observed { shown.state == Count(count: 5_301) && shown.pending.map(\.status).contains(.failed) }
        await transport.request { $0["Idempotency-Key"] == "\"300\"" }.answer(
            202, #"{"intent":"300","session":"s1","version":9}"#)
        stream.state(9, #"{"count":1301}"#)
        await observed { shown.confirmed == Count(count: 1_301) && shown.state == Count(count: 5_301) }
        _ = await storage.saves.until { _ in storage.amounts == [#"{"type":"add","amount":4000}"#] }
        watching.cancel()
    }

    @Test(arguments: [false, true])
    func `does not show one that is on its way, which the first state may have`(isLate: Bool) async throws {
        let transport = FakeTransport()
        let client = Self.client(transport, KeptText(Self.text([1, 20])))
        var store = isLate ? nil : Self.store(client)
        _ = await transport.request { $0.target.hasSuffix("/intents") }
        store = store ?? Self.store(client)
        let shown = try #require(store)
        let watching = Task { await shown.watch() }
        let stream = await transport.request { $0.target.hasPrefix("/events") }
        stream.accept()
        stream.state(7, #"{"count":1000}"#)
        await observed { shown.confirmed == Count(count: 1_000) && shown.pending.count == 2 }
        let state = await shown.state
        #expect(state == Count(count: 1_020))
        watching.cancel()
    }

    @Test func `tells the app what was given up`() async {
        let abandoned = Collected<WaitingIntent>()
        let storage = KeptText(Self.text([1], until: .seconds(9_999)))
        let client = Self.client(FakeTransport(), storage, abandoned: abandoned)
        let intent = await abandoned.atLeast(1)[0]
        #expect(intent == WaitingIntent(id: "1", feature: "tally", intent: #"{"type":"add","amount":1}"#))
        _ = await storage.saves.atLeast(1)
        #expect(storage.amounts.isEmpty)
        client.server.close()
    }

    @Test func `sends without a storage that fails, which is reported`() async {
        let transport = FakeTransport()
        let client = Self.client(transport, KeptText(fails: true))
        Self.store(client).post(.add(amount: 5))
        let sent = await transport.request { $0.target.hasSuffix("/intents") }
        #expect(sent.request.body == Array(#"{"type":"add","amount":5}"#.utf8))
        #expect(client.reports.all.count == 1)
        client.server.close()
    }

    @Test func `leaves them to the next client when it is closed`() async {
        let storage = KeptText()
        let first = Self.client(FakeTransport(), storage)
        let store = Self.store(first)
        store.post(.add(amount: 1))
        store.post(.add(amount: 2))
        _ = await storage.saves.until { _ in storage.amounts.count == 2 }
        first.server.close()
        let transport = FakeTransport()
        let second = Self.client(transport, storage)
        let sent = await transport.request { $0.target.hasSuffix("/intents") }
        #expect(sent.request.body == Array(#"{"type":"add","amount":1}"#.utf8))
        #expect(second.server.pending.count == 2)
        second.server.close()
    }
}
