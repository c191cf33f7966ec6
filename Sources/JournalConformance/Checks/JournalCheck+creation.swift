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
            for _ in 0..<25 {
                let token = Sample.tokenHash()
                try await createRace(journal, sessions: (0..<8).map { _ in Sample.session(token: token) })
            }
        },
        JournalCheck("of eight who create a session with the same id one succeeds") { journal in
            for round in 0..<25 {
                try await createRace(journal, sessions: (0..<8).map { _ in Sample.session(id: "id-\(round)") })
            }
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

    /// All at once: one is created, the others are told, and nothing of them is there.
    private static func createRace(_ journal: TestedJournal, sessions: [SessionRecord]) async throws {
        let results = try await eachOfEight { try await journal.create(sessions[$0]) }
        var created: [(key: SessionKey, record: SessionRecord)] = []
        var refused: [SessionRecord] = []
        for (record, result) in zip(sessions, results) {
            switch result {
            case .success(let key): created.append((key, record))
            case .failure(let failure):
                #expect(failure.code == .exists)
                refused.append(record)
            }
        }
        try await journal.reload()
        try #require(created.count == 1)
        let session = try await journal.stored(created[0].record)
        #expect(session.key == created[0].key)
        #expect(session.record == created[0].record)
        for record in refused where record.id != session.record.id {
            #expect(try await journal.export(record.id).get() == nil)
        }
        for record in refused where record.tokenHash != session.record.tokenHash {
            #expect(try await journal.load(record.tokenHash).get().isUnknown)
        }
    }
}
