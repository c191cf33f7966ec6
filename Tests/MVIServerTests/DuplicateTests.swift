import LibCrypto
import Locking
import MVI
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

@Suite("Intents that the journal has already do not run again", .timeLimit(.minutes(10)))
struct DuplicateTests {
    private static let increment = #"{"type":"increment"}"#

    /// The journal's result for a request with a key that ran before, from another writer or a lost answer.
    private func ran(_ key: String, version: UInt64) throws -> AppendResult {
        .duplicate(
            StoredReceipt(
                key: .key(key, feature: try #require(FeatureID("probe"))), number: version,
                bodyHash: SHA256.digest(Array(Self.increment.utf8)), intent: key,
                outcome: .ran(version: version), made: .seconds(1_767_313_000)))
    }

    @Test("a request that ran before is answered from its receipt, and the others of its batch run")
    func batch() async throws {
        try await TestServer.run(.memory) { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", "/features/probe/state"))
            server.journal.hold()
            let first = Task { try await server.send(session.intent(Self.increment)) }
            try await server.journal.untilHeld()
            // These wait for the first one's commit and are appended together.
            let names: [IntentRequest.Name?] = [.key("ran"), .key("new"), nil, .sequence(1, epoch: "e")]
            let live = try server.live(session)
            let probe = try #require(FeatureID("probe"))
            let replayed = Lock<[Int: Bool]>([:])
            for (index, name) in names.enumerated() {
                live.send(IntentRequest(body: Array(Self.increment.utf8), name: name), to: probe) { result in
                    guard case .success(let reply) = result else { return }
                    replayed.withLock { $0[index] = reply.isReplayed }
                }
            }
            server.journal.releaseOne()
            #expect(try await first.value.status == 202)
            while server.journal.waiting == 0 { await Task.yield() }
            // The batch is refused, then all run again, and the one that ran before finds its receipt.
            server.journal.releaseOne(try ran("ran", version: 2))
            while server.journal.waiting == 0 { await Task.yield() }
            server.journal.release()
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 4)
            #expect(replayed.withLock { $0 } == [0: true, 1: false, 2: false, 3: false])
        }
    }

    @Test("the outcome of a refusal's unknown commit is determined, and its repetition finds the receipt")
    func unheardRefusal() async throws {
        try await TestServer.run(.memory) { server in
            let session = try await server.session()
            let json = RefusalCase.json
            for (number, body, type, status) in [
                (1, "{", json, 400), (2, Self.increment, (name: "Content-Type", value: "text/plain"), 415),
                (3, #"{"type":"secret"}"#, json, 403),
            ] {
                let request = session.request(
                    "POST", "/features/probe/intents",
                    [type, ("Intent-Seq", "\(number)"), ("Intent-Epoch", "e")], body: body)
                _ = try await server.send(session.request("GET", "/features/probe/state"))
                server.journal.hold()
                let first = Task { try await server.send(request) }
                while server.journal.waiting == 0 { await Task.yield() }
                server.journal.commitUnheard(StoreError(.unavailable, "A test wants it so."))
                #expect(try await first.value.status == status)
                server.journal.release()
                let again = try await server.send(request)
                #expect(again.status == status && again["idempotency-replayed"] == "true")
            }
        }
    }
}
