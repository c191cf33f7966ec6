import MVITesting
import Observation
import Testing

@testable import MVIClient

@Suite("A store of a client", .timeLimit(.minutes(10)))
struct StoreTests {
    struct Count: Codable, Equatable, Sendable { var count: Int }
    enum Step: Codable, Sendable { case add(amount: Int) }
    enum Toast: Codable, Equatable, Sendable { case toast(text: String) }
    typealias Store = RemoteStore<Count, Step, Toast>

    /// A client whose stream has said hello.
    private static func live(
        _ change: (inout RemoteServer.Options) -> Void = { _ in }
    ) async -> (client: TestClient, transport: FakeTransport, store: Store, watching: Task<Void, Never>) {
        let transport = FakeTransport()
        let client = TestClient(transport) { options in
            options.credentials = MemoryCredentialStorage("t")
            change(&options)
        }
        let store = Store("tally", on: client.server)
        let watching = Task { await store.watch() }
        await transport.request(1).accept()
        return (client, transport, store, watching)
    }

    @Test func `its state is observable on the main actor`() async {
        let (client, transport, store, watching) = await Self.live()
        let before = await store.state
        #expect(before == nil)
        await transport.request(1).state(1, #"{"count":7,"new":true}"#)
        await observed { store.state == Count(count: 7) && store.availability == .shown }
        await observed { client.server.condition == .live }
        await transport.request(1).state(2, #"{"count":8}"#)
        await observed { store.state == Count(count: 8) }
        watching.cancel()
    }

    @Test func `each reader of states begins with the newest one`() async {
        let (_, transport, store, watching) = await Self.live()
        await transport.request(1).state(1, #"{"count":1}"#)
        await transport.request(1).state(2, #"{"count":2}"#)
        var states = store.states.makeAsyncIterator()
        #expect(await states.next() == Count(count: 2))
        await transport.request(1).state(3, #"{"count":3}"#)
        await transport.request(1).state(4, #"{"count":4}"#)
        #expect(await states.next() == Count(count: 4))
        watching.cancel()
    }

    @Test func `labels that nobody heard wait for the first reader, and each reader gets what comes then`() async {
        let (_, transport, store, watching) = await Self.live()
        await transport.request(1).label("l1", #"{"type":"toast","text":"a"}"#)
        // The label has come when the state behind it has.
        await transport.request(1).state(2, #"{"count":2}"#)
        for await state in store.states where state == Count(count: 2) { break }
        var first = store.labels.makeAsyncIterator()
        var second = store.labels.makeAsyncIterator()
        await transport.request(1).label("l2", #"{"type":"toast","text":"b"}"#)
        #expect(await first.next() == .toast(text: "a"))
        #expect(await first.next() == .toast(text: "b"))
        #expect(await second.next() == .toast(text: "b"))
        watching.cancel()
    }

    @Test func `beyond a thousand labels that nobody hears the oldest are dropped, and that is reported`() async {
        let (client, transport, store, watching) = await Self.live()
        let stream = await transport.request(1)
        for number in 0...1_000 { stream.label("l\(number)", #"{"type":"toast","text":"\#(number)"}"#) }
        #expect(client.reports.all.count == 1)
        var labels = store.labels.makeAsyncIterator()
        #expect(await labels.next() == .toast(text: "1"))
        watching.cancel()
    }

    @Test func `no label is delivered after its life, whether nobody heard it or its reader is slow`() async {
        let (client, transport, store, watching) = await Self.live()
        let stream = await transport.request(1)
        func publish(_ kind: String) {
            stream.label("\(kind)-short", #"{"type":"toast","text":"\#(kind) short"}"#, expiresIn: 5)
            stream.label("\(kind)-long", #"{"type":"toast","text":"\#(kind) long"}"#, expiresIn: 60)
        }
        publish("unheard")
        client.clock.advance(by: .seconds(4))
        var early = store.labels.makeAsyncIterator()
        #expect(await early.next() == .toast(text: "unheard short"))
        publish("slow")
        client.clock.advance(by: .seconds(5))
        // It comes to a listener that is there, whose task is slow.
        #expect(await early.next() == .toast(text: "unheard long"))
        #expect(await early.next() == .toast(text: "slow long"))
        watching.cancel()
    }

    @Test func `labels that nobody heard in time are dropped`() async {
        let (client, transport, store, watching) = await Self.live()
        await transport.request(1).label("l1", #"{"type":"toast","text":"old"}"#, expiresIn: 5)
        await transport.request(1).label("l2", #"{"type":"toast","text":"new"}"#, expiresIn: 6)
        client.clock.advance(by: .seconds(5))
        var labels = store.labels.makeAsyncIterator()
        #expect(await labels.next() == .toast(text: "new"))
        watching.cancel()
    }

    @Test func `what is not of the app's type is reported and not shown`() async {
        let (client, transport, store, watching) = await Self.live()
        await transport.request(1).state(1, #"{"count":1}"#)
        await transport.request(1).state(2, #"{"count":"many"}"#)
        await transport.request(1).label("l1", #"{"type":"flash"}"#)
        #expect(client.reports.all.count == 2)
        await observed { store.state == Count(count: 1) }
        watching.cancel()
    }

    @Test func `an intent is written as the wire has it`() async throws {
        let (_, transport, store, watching) = await Self.live()
        async let sent = store.send(.add(amount: 5))
        let post = await transport.request(2)
        #expect(post.request.target == "/features/tally/intents")
        #expect(post.request.body == Array(#"{"type":"add","amount":5}"#.utf8))
        #expect(post.request["Idempotency-Key"]?.utf8.count == 38)
        post.answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        #expect(try await sent == IntentReceipt(intent: "i", session: "s1", version: 2))
        watching.cancel()
    }

    @Test func `a posted intent that fails shows its failure, until another does not`() async throws {
        let (client, transport, store, watching) = await Self.live()
        store.post(.add(amount: 1))
        await transport.request(2).answer(
            409, #"{"type":"/problems/intent-conflict","detail":"Taken."}"#, type: "application/problem+json")
        await observed { store.failure?.message == "Taken." }
        #expect(client.reports.all.count == 1)
        store.post(.add(amount: 1))
        await transport.request(3).answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        await observed { store.failure == nil }
        watching.cancel()
    }

    @Test func `the intents that wait are listed in order, of all stores, until their answers`() async throws {
        let (client, transport, store, watching) = await Self.live()
        #expect(client.server.pending.isEmpty)
        store.post(.add(amount: 1))
        Store("other:7", on: client.server).post(.add(amount: 2))
        let waiting = client.server.pending
        #expect(waiting.map(\.feature) == ["tally", "other:7"])
        #expect(waiting.map(\.intent) == [#"{"type":"add","amount":1}"#, #"{"type":"add","amount":2}"#])
        let first = await transport.request(2)
        #expect(first.request["Idempotency-Key"] == waiting.first.map { "\"\($0.id)\"" })
        first.answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        #expect(client.server.pending == waiting.suffix(1))
        let second = await transport.request(3)
        #expect(second.request["Idempotency-Key"] == waiting.last.map { "\"\($0.id)\"" })
        second.answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        #expect(client.server.pending.isEmpty)
        watching.cancel()
    }

    @Test func `a cancelled sender gets a CancellationError`() async {
        let (_, transport, store, watching) = await Self.live()
        let sending = Task { try await store.send(.add(amount: 1)) }
        _ = await transport.request(2)
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        watching.cancel()
    }

    @Test func `time passes by the clock that is given`() async throws {
        let (client, transport, _, watching) = await Self.live()
        await transport.request(1).told(.end(TransportFailure()))
        await client.conditions.until { $0.last == .reconnecting(after: .milliseconds(1_500)) }
        await client.clock.sleepers()
        client.clock.advance(by: .milliseconds(1_500))
        #expect(await transport.request(2).request.target == "/events?feature=tally")
        watching.cancel()
    }

    @Test func `another store redraws no view of what is unchanged`() async throws {
        let (client, transport, store, watching) = await Self.live()
        await transport.request(1).state(1, #"{"count":1}"#)
        await observed { store.state == Count(count: 1) && client.server.condition == .live }
        let redrawn = await Redraws.of {
            _ = (store.state, store.confirmed, store.pending.count, store.availability, client.server.condition)
        }
        let other = Store("other", on: client.server)
        let alsoWatching = Task { await other.watch() }
        let stream = await transport.request(2)
        stream.accept()
        stream.state(1, #"{"count":1}"#)
        stream.write("event: state\ndata: {\"feature\":\"other\",\"version\":1,\"state\":{\"count\":3}}\n\n")
        await observed { other.state == Count(count: 3) }
        #expect(redrawn.all.isEmpty)
        // What is different is shown, and the same after the end of the store.
        stream.state(1, #"{"count":2}"#)
        await observed { store.state == Count(count: 2) }
        #expect(redrawn.all.count == 1)
        stream.write("event: end\ndata: {\"feature\":\"tally\"}\n\n")
        await observed { store.availability == .ended }
        stream.state(1, #"{"count":2}"#)
        await observed { store.availability == .shown }
        watching.cancel()
        alsoWatching.cancel()
    }

    @Test func `the network that the app names decides whether anything is tried`() async throws {
        let (network, says) = AsyncStream.makeStream(of: Bool.self)
        let (client, transport, _, watching) = await Self.live { $0.network = .changes(network) }
        says.yield(false)
        await client.conditions.until { $0.last == .offline }
        #expect(await transport.cuts.atLeast(1).count == 1)
        says.yield(true)
        #expect(await transport.request(2).request.target == "/events?feature=tally")
        watching.cancel()
    }

    @Test func `a sequence keeps its client, which is closed when nobody has it any more`() async throws {
        let transport = FakeTransport()
        func states() -> AsyncStream<Count> {
            var options = RemoteServer.Options()
            options.network = .always
            options.credentials = MemoryCredentialStorage("t")
            let server = RemoteServer(
                options: options, settings: ConnectionSettings(options), transport: transport,
                time: Timekeeper(ContinuousClock()), random: { 0 })
            return Store("tally", on: server).states
        }
        let reading = Task {
            for await state in states() where state.count == 1 { break }
        }
        await transport.request(1).accept()
        await transport.request(1).state(1, #"{"count":1}"#)
        await reading.value
        try await transport.closed.wait()
    }

    @Test func `closing ends sequences and what waits`() async {
        let (client, transport, store, watching) = await Self.live()
        let sending = Task { try await store.send(.add(amount: 1)) }
        _ = await transport.request(2)
        client.server.close()
        await watching.value
        let error = await #expect(throws: RemoteError.self) { try await sending.value }
        #expect(error?.code == .closed && error?.mayHaveRun == true)
        await client.conditions.until { $0.last == .closed }
        for await _ in store.states { Issue.record("A closed client shows nothing.") }
    }

    @Test func `the credential is saved in the order in which it changed`() async throws {
        let storage = SlowStorage()
        let transport = FakeTransport()
        let client = TestClient(transport) { $0.credentials = storage }
        let store = Store("tally", on: client.server)
        let watching = Task { await store.watch() }
        await transport.request(1).answer(201, #"{"id":"s1","token":"t1"}"#)
        await transport.request(2).accept()
        await transport.request(2).write("event: goaway\ndata: {\"reason\":\"expired\"}\n\n")
        await transport.request(3).answer(201, #"{"id":"s2","token":"t2"}"#)
        _ = await transport.request(4)
        #expect(storage.saved.all.isEmpty)
        storage.gate.open()
        #expect(await storage.saved.atLeast(2) == ["t1", "t2"])
        watching.cancel()
    }

    /// Saves when the gate is open.
    private final class SlowStorage: CredentialStorage {
        let gate = Gate()
        let saved = Collected<String?>()
        func load() async -> String? { nil }
        func save(_ credential: String?) async throws {
            try await gate.wait()
            saved.append(credential)
        }
    }
}
