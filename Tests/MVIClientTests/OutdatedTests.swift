import MVITesting
import Observation
import Testing

@testable import MVIClient

@Suite("An app that is older than its server", .timeLimit(.minutes(10)))
struct OutdatedTests {
    enum Phase: Codable, Equatable, Sendable { case open(count: Int), closed }
    enum Step: Codable, Equatable, Sendable { case add(amount: Int) }
    typealias Store = RemoteStore<Phase, Step, Never>

    private struct Setup {
        let client: TestClient
        let transport: FakeTransport
        let store: Store
        let watching: Task<Void, Never>
        let outdated: Collected<RemoteError>
    }

    private static func live() async -> Setup {
        let (transport, outdated) = (FakeTransport(), Collected<RemoteError>())
        let client = TestClient(transport) { options in
            options.credentials = MemoryCredentialStorage("t")
            options.onOutdated = { outdated.append($0) }
        }
        let store = Store("tally", on: client.server) { state, intent in
            if case (.open(let count), .add(let amount)) = (state, intent) { state = .open(count: count + amount) }
        }
        let watching = Task { await store.watch() }
        await transport.request(1).accept()
        await transport.request(1).state(1, #"{"type":"open","count":1}"#)
        await observed { store.state == .open(count: 1) }
        return Setup(client: client, transport: transport, store: store, watching: watching, outdated: outdated)
    }

    @Test(arguments: [
        (#"{"type":"paused","since":7}"#, "paused"), (#"{"type":"open","count":"many"}"#, "/count"),
        (#"{"type":"open"}"#, "/count"),
    ])
    func `keeps the last state without predictions, and says which member or case it does not know`(
        state: String, named: String
    ) async {
        let setup = await Self.live()
        let store = setup.store
        store.post(.add(amount: 10))
        await observed { store.state == .open(count: 11) }
        await setup.transport.request(1).state(2, state)
        await observed { store.availability == .outdated && store.state == .open(count: 1) }
        let failure = await store.failure
        #expect(failure?.code == .outdated && failure?.message.contains(named) == true, "\(failure?.message ?? "")")
        // A later intent is sent, and not shown. Its refusal does not hide the error.
        await setup.transport.request(2).answer(202, #"{"intent":"i","session":"s1","version":3}"#)
        store.post(.add(amount: 100))
        let refusal = #"{"type":"/problems/intent-refused"}"#
        await setup.transport.request(3).answer(422, refusal, type: "application/problem+json")
        await observed { store.pending.map(\.status) == [.failed] }
        let (shown, still) = await (store.state, store.failure)
        #expect(shown == .open(count: 1) && still?.code == .outdated)
        // What can be read again is shown.
        await setup.transport.request(1).state(5, #"{"type":"open","count":111}"#)
        await observed { store.availability == .shown && store.state == .open(count: 111) }
        await observed { store.failure?.code == .refused }
        setup.watching.cancel()
    }

    @Test func `is told once`() async {
        let setup = await Self.live()
        let stream = await setup.transport.request(1)
        stream.state(2, #"{"type":"paused"}"#)
        stream.state(3, #"{"type":"open","count":3}"#)
        stream.state(4, #"{"type":"paused"}"#)
        await observed { setup.store.availability == .outdated }
        let other = Store("tally", on: setup.client.server)
        let watching = Task { await other.watch() }
        await observed { other.availability == .outdated }
        #expect(setup.outdated.all.map(\.code) == [.outdated])
        #expect(setup.outdated.all.first?.message.contains("tally") == true)
        setup.watching.cancel()
        watching.cancel()
    }

    @Test(arguments: [SendCompletion.committed, .shown])
    func `learns it from an intent that should be shown, and not from one that should be committed`(
        completion: SendCompletion
    ) async throws {
        let setup = await Self.live()
        let sending = Task { try await setup.store.send(.add(amount: 1), until: completion) }
        await setup.transport.request(2).answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        await setup.transport.request(1).state(2, #"{"type":"paused"}"#)
        let result = await sending.result
        switch completion {
        case .committed: #expect(try result.get().version == 2)
        case .shown:
            let error = #expect(throws: RemoteError.self) { try result.get() }
            #expect(error?.code == .outdated && error?.message.contains("paused") == true)
        }
        setup.watching.cancel()
    }

    @Test func `shows a state that was held before the one that it cannot read`() async {
        let setup = await Self.live()
        setup.store.post(.add(amount: 10))
        _ = await setup.transport.request(2)
        await observed { setup.store.state == .open(count: 11) }
        let stream = await setup.transport.request(1)
        stream.state(2, #"{"type":"open","count":5}"#)
        stream.state(3, #"{"type":"paused"}"#)
        await observed { setup.store.availability == .outdated && setup.store.state == .open(count: 5) }
        setup.watching.cancel()
    }
}
