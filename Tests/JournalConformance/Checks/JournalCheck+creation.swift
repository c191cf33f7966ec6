import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let creation: [JournalCheck] = [
        JournalCheck("the secret is random, and the same for as long as the journal is there") { journal in
            let secret = try await journal.secret().get()
            #expect(secret.key.count == 32 && secret.generation.count == 16)
            #expect(Set(secret.key).count > 8)
            #expect(try await journal.secret().get() == secret)
            try await journal.reload()
            #expect(try await journal.secret().get() == secret)
        },
        JournalCheck("a session that has ended is not created again as long as that is remembered") { journal in
            let log = try await journal.newLog()
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            let unkept = Sample.session()
            _ = try await journal.bury(unkept.tokenHash, until: Sample.muchLater).get()
            try await journal.reload()
            for record in [log.record, unkept] {
                #expect(try await journal.create(record).failure == .gone)
                #expect(try await journal.load(record.tokenHash).get().isEnded)
            }
            #expect(try await journal.load(unkept.tokenHash, now: Sample.muchLater).get().isUnknown)
        },
        JournalCheck("a session with an ended token and an id in use is refused as one that exists") { journal in
            let log = try await journal.newLog()
            let ended = Sample.session(id: log.record.id)
            _ = try await journal.bury(ended.tokenHash, until: Sample.muchLater).get()
            #expect(try await journal.create(ended).failure == .exists)
            try await journal.reload()
            #expect(try await journal.create(ended).failure == .exists)
        },
        JournalCheck("a session is loaded by its token as it was created") { journal in
            for credential in [SessionCredential.bearer, .cookie] {
                let log = try await journal.newLog(Sample.session(credential: credential))
                try await journal.reload()
                let session = try await journal.stored(log)
                #expect(session.key == log.key)
                #expect(session.record == log.record)
                #expect(session.head == .empty)
                #expect(session.lostLabels == LostLabels())
                #expect(session.stores.isEmpty && session.labels.isEmpty && session.receipts.isEmpty)
            }
        },
        JournalCheck("a token that no session has names nothing, also one that differs in its last byte") { journal in
            let log = try await journal.newLog()
            try await journal.reload()
            var bytes = log.record.tokenHash.bytes
            bytes[31] ^= 1
            #expect(try await journal.load(TokenHash(bytes)).get().isUnknown)
            #expect(try await journal.load(Sample.tokenHash()).get().isUnknown)
            #expect(try await journal.export("unknown").get() == nil)
        },
        JournalCheck("of eight who create a session with the same token one succeeds") { journal in
            let tokens = (0..<100).map { _ in Sample.tokenHash() }
            try await createRaces(journal, tokens.map { token in (0..<8).map { _ in Sample.session(token: token) } })
        },
        JournalCheck("of eight who create a session with the same id one succeeds") { journal in
            let ids = (0..<100).map { "id-\($0)" }
            try await createRaces(journal, ids.map { id in (0..<8).map { _ in Sample.session(id: id) } })
        },
        JournalCheck("a session that exists already keeps its own when it is created again") { journal in
            let log = try await journal.newLogWithStore()
            let before = try await journal.picture(log)
            let again = Sample.session(id: log.record.id)
            #expect(try await journal.create(again).failure == .exists)
            #expect(try await journal.create(Sample.session(token: log.record.tokenHash)).failure == .exists)
            try await journal.reload()
            #expect(try await journal.picture(log) == before)
            #expect(try await journal.load(again.tokenHash).get().isUnknown)
        },
        JournalCheck("a key is not assigned again, and shows nothing to a session of another token") { journal in
            var gone = try await journal.newLogWithStore()
            try await journal.commit(gone.batch(.changed(Sample.counter, "1")), to: &gone)
            _ = try await journal.remove(gone.key, tombstoneUntil: Sample.later).get()
            try await journal.reload()
            let log = try await journal.newLogWithStore()
            #expect(log.key != gone.key)
            // As if a session in memory asked for a key that was used again.
            let mistaken = Log(key: log.key, record: gone.record)
            #expect(try await journal.loadStores([Sample.counter], of: mistaken).get() == [])
            #expect(try await journal.loadStores([Sample.counter], of: log).get().count == 1)
            let loaded = try #require(try await journal.load(log.key, since: .empty).get())
            #expect(loaded.record.tokenHash == log.record.tokenHash)
            #expect(loaded.mark.token == log.record.tokenHash)
        },
        JournalCheck("what belongs to one session is not seen in another") { journal in
            var first = try await journal.newLog()
            var second = try await journal.newLog()
            let receipts = [Sample.receipt("key"), Sample.receipt(sequence: 3, epoch: "e")]
            let batch = first.batch(.made(Sample.counter, "1"), labels: first.labels("a"), receipts: receipts)
            try await journal.commit(batch, to: &first)
            let empty = try await journal.picture(second)
            try await journal.reload()
            #expect(try await journal.loadStores([Sample.counter], of: second).get() == [])
            #expect(try await journal.picture(second) == empty)

            try await journal.commit(
                second.batch(.made(Sample.counter, "2"), labels: second.labels("b"), receipts: receipts), to: &second)
            try await journal.reload()
            #expect(try await journal.store(of: first).state == Sample.bytes("1"))
            #expect(try await journal.store(of: second).state == Sample.bytes("2"))
            #expect(try await journal.stored(first).head == first.head)
            #expect(try await journal.stored(first).labels == batch.labels)
        },
    ]

    /// Eight writers run the same rounds in parallel: in each round one session is created, the others are refused, and
    /// nothing of them is stored.
    private static func createRaces(_ journal: TestedJournal, _ rounds: [[SessionRecord]]) async throws {
        let results = try await eachOfEight { writer in
            var results: [Result<SessionKey, StoreError>] = []
            for sessions in rounds { results.append(try await journal.create(sessions[writer])) }
            return results
        }
        try await journal.reload()
        for (round, sessions) in rounds.enumerated() {
            #expect(results.compactMap { $0[round].failure } == Array(repeating: .exists, count: 7))
            let winners = sessions.indices.filter { results[$0][round].failure == nil }
            try #require(winners.count == 1)
            let winner = Log(key: try results[winners[0]][round].get(), record: sessions[winners[0]])
            let session = try await journal.stored(winner)
            #expect(session.key == winner.key)
            #expect(session.record == winner.record)
            for record in sessions where record.id != winner.record.id {
                #expect(try await journal.export(record.id).get() == nil)
            }
            for record in sessions where record.tokenHash != winner.record.tokenHash {
                #expect(try await journal.load(record.tokenHash).get().isUnknown)
            }
        }
    }

    /// Runs eight tasks at once and returns their results in order.
    static func eachOfEight<Value: Sendable>(
        _ body: @escaping @Sendable (_ writer: Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for writer in 0..<8 { group.addTask { (writer, try await body(writer)) } }
            var results: [Int: Value] = [:]
            for try await (writer, value) in group { results[writer] = value }
            return (0..<8).compactMap { results[$0] }
        }
    }
}
