import MVI
import SessionJournal
import Testing

/// Sessions with a credential, and look-ups of their tokens.
extension JournalCheck {
    static let credentials: [JournalCheck] = [
        JournalCheck("a session is loaded by its own token and by that of its credential, with its subject") {
            journal in
            for isShared in [false, true] {
                let credential = StoredCredential.sample(1, .cookie)
                let record = Sample.session(subject: Sample.subject("a"), isShared: isShared)
                let log = try await journal.newLog(record, credential: credential)
                try await journal.reload()
                for token in [record.tokenHash, credential.token] {
                    let session = try await journal.stored(token)
                    #expect(session.key == log.key)
                    #expect(session.record == record)
                    #expect(session.credentials == [credential])
                }
                #expect(try await journal.exported(log).session.credentials == [credential])
                #expect(try await journal.news(log, since: .random(5)).credentials == [credential])
            }
        },
        JournalCheck("a session without a credential has none, and no subject") { journal in
            let log = try await journal.newLogWithStore()
            try await journal.reload()
            let session = try await journal.stored(log)
            #expect(session.credentials == [] && session.reminders == [])
            #expect(session.record.subject == nil && !session.record.isShared)
        },
        JournalCheck("a token belongs to one credential or one session only") { journal in
            let credential = StoredCredential.sample(1)
            let log = try await journal.newLog(credential: credential)
            let before = try await journal.picture(log)
            let known = [credential.token, log.record.tokenHash]
            for token in known {
                #expect(try await journal.create(Sample.session(token: token)).failure == .exists)
                let record = Sample.session()
                let other = StoredCredential.sample(1, token: token)
                #expect(try await journal.create(record, credential: other).failure == .exists)
                #expect(try await journal.load(record.tokenHash).get().isUnknown)
            }
            let record = Sample.session()
            let same = StoredCredential.sample(1, token: record.tokenHash)
            #expect(try await journal.create(record, credential: same).failure == .exists)
            // The refused session reserves nothing.
            let free = StoredCredential.sample(1)
            #expect(try await journal.create(Sample.session(id: log.record.id), credential: free).failure == .exists)
            try await journal.reload()
            #expect(try await journal.picture(log) == before)
            #expect(try await journal.load(free.token).get().isUnknown)
            _ = try await journal.newLog(record, credential: free)
        },
        JournalCheck("a session with a token that is remembered as ended is not created") { journal in
            let credential = StoredCredential.sample(1)
            let log = try await journal.newLog(credential: credential)
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            try await journal.reload()
            let record = Sample.session()
            #expect(try await journal.create(record, credential: credential).failure == .gone)
            #expect(try await journal.create(Sample.session(token: credential.token)).failure == .gone)
            #expect(
                try await journal.create(log.record, credential: StoredCredential.sample(1)).failure == .gone)
            #expect(try await journal.load(record.tokenHash).get().isUnknown)
        },
        JournalCheck("a subject has one shared session, and others beside it") { journal in
            let subject = Sample.subject("a")
            let first = Sample.session(subject: subject, isShared: true)
            let log = try await journal.newLog(first, credential: .sample(1))
            let second = Sample.session(subject: subject, isShared: true)
            #expect(try await journal.create(second, credential: .sample(1)).failure == .exists)
            #expect(try await journal.load(second.tokenHash).get().isUnknown)
            _ = try await journal.newLog(Sample.session(subject: subject), credential: .sample(1))
            _ = try await journal.newLog(Sample.session(subject: Sample.subject("b"), isShared: true))
            let otherIssuer = Subject(issuer: "b", id: subject.id)
            _ = try await journal.newLog(Sample.session(subject: otherIssuer, isShared: true))
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            _ = try await journal.newLog(second, credential: .sample(1))
        },
        JournalCheck("of eight who create the shared session of a subject one succeeds") { journal in
            let subjects = (0..<50).map { Sample.subject("\($0)") }
            let results = try await eachOfEight { _ in
                var results: [Result<SessionKey, StoreError>] = []
                for subject in subjects {
                    let record = Sample.session(subject: subject, isShared: true)
                    results.append(try await journal.create(record, credential: .sample(1)))
                }
                return results
            }
            try await journal.reload()
            for (round, subject) in subjects.enumerated() {
                #expect(results.compactMap { $0[round].failure } == Array(repeating: .exists, count: 7))
                #expect(try await journal.find(.shared(subject)).get().count == 1)
                #expect(try await journal.find(.subject(subject)).get().count == 1)
            }
        },
        JournalCheck("a session that is removed or expires takes its credentials along") { journal in
            let credentials = [StoredCredential.sample(1, revokedUntil: Sample.later), .sample(2)]
            let removed = try await journal.newSignedIn(credentials)
            let expired = try await journal.newSignedIn([.sample(1), .sample(2)])
            let young = try await journal.newLog(Sample.session(lastSeen: Sample.muchLater), credential: .sample(1))
            _ = try await journal.remove(removed.key, tombstoneUntil: Sample.muchLater).get()
            #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == 1)
            try await journal.reload()
            // Tokens of credentials are random, so those of an expired session need no tombstone.
            for token in expired.credentials.map(\.token) { #expect(try await journal.load(token).get().isUnknown) }
            let ended = [removed.record.tokenHash, expired.record.tokenHash] + removed.credentials.map(\.token)
            for (log, tokens) in [(removed, ended), (expired, [])] {
                for token in tokens {
                    #expect(try await journal.load(token).get().isEnded)
                    #expect(try await journal.load(token, now: Sample.muchLater).get().isUnknown)
                    #expect(try await journal.create(Sample.session(token: token)).failure == .gone)
                }
                #expect(try await journal.find(.id(log.record.id)).get() == [])
                #expect(try await journal.find(.subject(Sample.subject("a"))).get() == [])
                let change = CredentialChange(session: log.key, expecting: nil, subject: nil, kept: [.sample(3)])
                #expect(try await journal.change(change).failure == .gone)
            }
            #expect(try await journal.stored(young).record == young.record)
            // After the tombstones are deleted, the tokens can be used again.
            _ = try await journal.expire(lastSeenBefore: .zero, now: Sample.muchLater, limit: 10).get()
            _ = try await journal.newLog(removed.record, credential: credentials[1])
        },
        JournalCheck("a load by a credential's token sees what was handed over before it") { journal in
            let (record, credential, added) = (Sample.session(), StoredCredential.sample(1), StoredCredential.sample(2))
            // The calls follow each other without waiting.
            let create: Answer<Result<SessionKey, StoreError>> = journal.start("create") {
                $0.create(record, credential: credential, done: $1)
            }
            let load: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(credential.token, now: Sample.later, done: $1)
            }
            let found: Answer<Result<[SessionRecord], StoreError>> = journal.start("find") {
                $0.find(.id(record.id), limit: 1, done: $1)
            }
            let key = try await create.value.get()
            guard case .found(let session) = try await load.value.get() else { throw CheckCannotGoOn() }
            #expect(session.key == key && session.credentials == [credential])
            #expect(try await found.value.get() == [record])

            let change = CredentialChange(
                session: key, expecting: nil, subject: Sample.subject("a"), kept: [added], removed: [credential.token],
                tombstoneUntil: Sample.muchLater)
            let changed: Answer<Result<Void, StoreError>> = journal.start("change") { $0.change(change, done: $1) }
            let new: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(added.token, now: Sample.later, done: $1)
            }
            let old: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(credential.token, now: Sample.later, done: $1)
            }
            let news: Answer<Result<StoredSession?, StoreError>> = journal.start("load since") {
                $0.load(key, since: .empty, done: $1)
            }
            let sessions: Answer<Result<[SessionRecord], StoreError>> = journal.start("find") {
                $0.find(.subject(Sample.subject("a")), limit: 9, done: $1)
            }
            _ = try await changed.value.get()
            guard case .found(let again) = try await new.value.get() else { throw CheckCannotGoOn() }
            #expect(again.credentials == [added] && again.record.subject == Sample.subject("a"))
            #expect(try await old.value.get().isEnded)
            #expect(try await news.value.get()?.credentials == [added])
            #expect(try await sessions.value.get().map(\.id) == [record.id])
        },
    ]
}
