import SessionJournal
import Testing

extension JournalCheck {
    static let creation: [JournalCheck] = [
        JournalCheck("a session is loaded by its token as it was created") { journal in
            for credential in [SessionCredential.bearer, .cookie] {
                let (key, record) = try await journal.newSession(Sample.session(credential: credential))
                try await journal.reload()
                let session = try await journal.stored(record)
                #expect(session.key == key)
                #expect(session.record == record)
                #expect(session.sequence == 0)
                #expect(session.marks == SessionMarks())
                #expect(session.stores.isEmpty && session.labels.isEmpty && session.receipts.isEmpty)
                #expect(session.lastNumbers.isEmpty)
            }
        },
        JournalCheck("a token that no session has names nothing, also one that differs in its last byte") { journal in
            let (_, record) = try await journal.newSession()
            try await journal.reload()
            var bytes = record.tokenHash.bytes
            bytes[31] ^= 1
            #expect(try await journal.load(TokenHash(bytes)).get().isUnknown)
            #expect(try await journal.load(Sample.tokenHash()).get().isUnknown)
            #expect(try await journal.export("nobody").get() == nil)
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
            let (key, record) = try await journal.newSession()
            try await journal.commit(.turns(key, from: nil, to: .next()))
            let before = try await journal.picture(record)
            let again = Sample.session(id: record.id)
            #expect(try await journal.create(again).failure?.code == .exists)
            #expect(
                try await journal.create(Sample.session(token: record.tokenHash)).failure?.code == .exists)
            try await journal.reload()
            #expect(try await journal.picture(record) == before)
            #expect(try await journal.load(again.tokenHash).get().isUnknown)
        },
        JournalCheck("what belongs to one session is not seen in another") { journal in
            let (first, firstRecord) = try await journal.newSession()
            let (second, secondRecord) = try await journal.newSession()
            try await journal.commit(
                .turns(
                    first, from: nil, to: .next(), state: "1", turns: [Sample.turn("a")],
                    receipts: [Sample.receipt("key"), Sample.receipt(number: 3, epoch: "e")]))
            let empty = try await journal.picture(secondRecord)
            try await journal.reload()
            #expect(try await journal.loadStores([Sample.counter], of: second).get() == [])
            #expect(try await journal.picture(secondRecord) == empty)

            let sequence = try await journal.commit(
                .turns(
                    second, from: nil, to: .next(), state: "2", turns: [Sample.turn("b")],
                    receipts: [Sample.receipt("key"), Sample.receipt(number: 9, epoch: "e")]))
            #expect(sequence == 1)
            try await journal.reload()
            #expect(try await journal.store(of: first).state == Sample.bytes("1"))
            #expect(try await journal.store(of: second).state == Sample.bytes("2"))
            #expect(try await journal.stored(firstRecord).lastNumbers == ["e": 3])
            #expect(try await journal.stored(secondRecord).lastNumbers == ["e": 9])
        },
    ]

    /// Eight writers go through the same rounds side by side: of each round one session is created, the others are
    /// told, and nothing of them is there.
    private static func createRaces(_ journal: TestedJournal, _ rounds: [[SessionRecord]]) async throws {
        let results = try await eachOfEight { writer in
            var results: [Result<SessionKey, JournalFailure>] = []
            for sessions in rounds { results.append(try await journal.create(sessions[writer])) }
            return results
        }
        try await journal.reload()
        for (round, sessions) in rounds.enumerated() {
            let failures = results.compactMap { $0[round].failure }
            #expect(failures.map(\.code) == Array(repeating: .exists, count: 7))
            let winners = sessions.indices.filter { results[$0][round].failure == nil }
            try #require(winners.count == 1)
            let winner = sessions[winners[0]]
            let session = try await journal.stored(winner)
            #expect(session.key == (try results[winners[0]][round].get()))
            #expect(session.record == winner)
            for record in sessions where record.id != winner.id {
                #expect(try await journal.export(record.id).get() == nil)
            }
            for record in sessions where record.tokenHash != winner.tokenHash {
                #expect(try await journal.load(record.tokenHash).get().isUnknown)
            }
        }
    }
}
