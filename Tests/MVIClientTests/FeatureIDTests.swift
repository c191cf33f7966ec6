import MVITesting
import Testing
import WireJSON

@testable import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Ids that all clients accept and refuse: `Clients/Conformance/ids.json`.
private struct IDVectors: Decodable {
    let good: [String]
    let bad: [String]

    static let all: IDVectors? = {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Clients/Conformance/ids.json"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return try? WireJSON.decode(IDVectors.self, from: Array(text.utf8))
    }()
}

@Suite("The ids of stores", .timeLimit(.minutes(10)))
struct FeatureIDTests {
    private static let good = IDVectors.all?.good ?? []
    private static let bad = IDVectors.all?.bad ?? []

    @Test func `the vectors are there`() { #expect(Self.good.count > 5 && Self.bad.count > 20) }

    @Test(arguments: good)
    func `an id of the contract is watched and sent to`(id: String) throws {
        var play = try Play.live()
        play.handle(.watch(id))
        #expect(play.deliveries.allSatisfy { $0 != .missing } && play.connection.streamFeatures.contains(id))
        play.send(1, to: id)
        #expect(try play.request().request.target == "/features/\(id)/intents")
    }

    @Test(arguments: bad)
    func `a key from a link addresses no other resource`(id: String) throws {
        var play = Play()
        play.handle(.watch(id))
        #expect(play.commands == [.deliver(feature: id, .missing)])
        play.send(1, to: id)
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .invalidFeature && !error.mayHaveRun && play.commands.count == 1)
        // Nor later, when there are requests for others.
        play = try Play.live()
        play.handle(.watch(id))
        play.send(1, to: id)
        #expect(play.requests.isEmpty && play.outcomes.count == 1)
        try play.event("goaway", #"{"reason":"expired"}"#)
        let made = try play.request()
        play.answer(made.id, 201, #"{"id":"s2","token":"t2"}"#)
        #expect(play.requests.map(\.target) == ["/events?feature=counter"])
        play.handle(.unwatch(id))
        #expect(play.commands.isEmpty)
    }

    @Test func `a store with a bad id is missing, and says what is wrong with each intent`() async throws {
        let transport = FakeTransport()
        let client = TestClient(transport)
        let store = client.server.store(of: Tally.self, key: "42/../../sessions/current?")
        let watching = Task { await store.watch() }
        await observed { store.availability == .missing }
        let error = await #expect(throws: RemoteError.self) { try await store.send(.cheer) }
        #expect(error?.code == .invalidFeature)
        #expect(
            error?.message
                == #""tally:42/../../sessions/current?" is no store's id, such as "counter" or "order:42": a key has 1 to 64 of A-Z a-z 0-9 . _ ~ -"#
        )
        store.post(.cheer)
        await observed { store.failure?.code == .invalidFeature }
        let disposal = await #expect(throws: RemoteError.self) { try await store.dispose() }
        #expect(disposal?.code == .invalidFeature)
        #expect(transport.started.all.isEmpty)
        client.server.close()
        await watching.value
    }
}
