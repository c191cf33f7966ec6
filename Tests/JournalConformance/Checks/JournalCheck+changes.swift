import MVI
import SessionJournal
import Testing

/// Changes of access to a session.
extension JournalCheck {
    static let changes: [JournalCheck] = [
        JournalCheck("a change adds, replaces and removes credentials and gives the session its subject") { journal in
            let first = StoredCredential.sample(1)
            let log = try await journal.newLog(credential: first)
            let subject = Sample.subject("a")
            let replaced = StoredCredential.sample(1, .cookie, token: first.token, revokedUntil: Sample.later)
            let (second, third) = (StoredCredential.sample(2), StoredCredential.sample(7))
            _ = try await journal.change(
                CredentialChange(
                    session: log.key, expecting: nil, subject: subject, kept: [third, second, replaced])
            ).get()
            try await journal.reload()
            for token in [log.record.tokenHash, first.token, second.token, third.token] {
                let session = try await journal.stored(token)
                #expect(session.key == log.key)
                #expect(session.credentials == [replaced, second, third], "in the order of their numbers")
                #expect(session.record.subject == subject)
            }
            // The log is unchanged.
            #expect(try await journal.stored(log).head == log.head)
            _ = try await journal.change(
                CredentialChange(
                    session: log.key, expecting: subject, subject: subject, removed: [first.token, third.token],
                    tombstoneUntil: Sample.muchLater)
            ).get()
            try await journal.reload()
            #expect(try await journal.stored(second.token).credentials == [second])
            for token in [first.token, third.token] {
                #expect(try await journal.load(token, now: Sample.muchLater - .milliseconds(1)).get().isEnded)
                #expect(try await journal.load(token, now: Sample.muchLater).get().isUnknown)
            }
        },
        JournalCheck("each credential and the session's own token have settings, which a renewal and a reload keep") {
            journal in
            let (german, english, zone) = (
                ClientSettings(locale: "de-DE", timeZone: "Europe/Berlin"), ClientSettings(locale: "en", timeZone: nil),
                ClientSettings(locale: nil, timeZone: "UTC")
            )
            var (record, first, second) = (Sample.session(), StoredCredential.sample(1), StoredCredential.sample(2))
            (record.settings, first.settings, second.settings) = (english, german, zone)
            let log = try await journal.newLog(record, credential: first)
            func settings() async throws -> [ClientSettings?] {
                try await journal.reload()
                let stored = try await journal.stored(log)
                return [stored.record.settings] + stored.credentials.map(\.settings)
            }
            func change(_ change: (inout CredentialChange) -> Void) async throws {
                var made = CredentialChange(session: log.key, expecting: nil, subject: nil)
                change(&made)
                _ = try await journal.change(made).get()
            }
            #expect(try await settings() == [english, german])
            // A renewal by a node that knows other settings.
            let renewed = StoredCredential.sample(1, token: first.token, name: #"{"tier":"premium"}"#)
            try await change { $0.kept = [renewed, second] }
            #expect(try await journal.stored(log).credentials[0].principal == renewed.principal)
            #expect(try await settings() == [english, german, zone])
            try await change { $0.settings = .init(token: second.token, value: nil) }
            #expect(try await settings() == [english, german, nil])
            try await change { $0.settings = .init(token: log.record.tokenHash, value: zone) }
            #expect(try await settings() == [zone, german, nil])
            let export = try #require(try await journal.export(log.record.id).get())
            #expect(export.session.record.settings == zone && export.session.credentials[0].settings == german)
        },
        JournalCheck("a subject can be taken from a session, and its other sessions stay") { journal in
            let subject = Sample.subject("a")
            let log = try await journal.newLog(Sample.session(subject: subject), credential: .sample(1))
            let other = try await journal.newLog(Sample.session(subject: subject), credential: .sample(1))
            _ = try await journal.change(CredentialChange(session: log.key, expecting: subject, subject: nil)).get()
            try await journal.reload()
            #expect(try await journal.stored(log).record.subject == nil)
            #expect(try await journal.stored(log).credentials.map(\.number) == [1])
            #expect(try await journal.find(.subject(subject)).get() == [other.record])
        },
        JournalCheck("a change that requires a credential which is gone is contended, and nothing of it is kept") {
            journal in
            let log = try await journal.newSignedIn([.sample(1), .sample(2)])
            let renewed = StoredCredential.sample(1, token: log.credentials[0].token, name: #"{"tier":"premium"}"#)
            try await expectRefused(journal, log, .contended) {
                ($0.kept, $0.requires) = ([renewed], [renewed.token, Sample.tokenHash()])
            }
            let subject = log.record.subject
            _ = try await journal.change(
                CredentialChange(
                    session: log.key, expecting: subject, subject: subject, kept: [renewed], requires: [renewed.token])
            ).get()
            try await journal.reload()
            #expect(try await journal.stored(log).credentials.first == renewed)
        },
        JournalCheck("a change that expects another subject is contended, and nothing of it is kept") { journal in
            let log = try await journal.newSignedIn([.sample(1)])
            let owner = log.record.subject
            let added = StoredCredential.sample(2)
            for expected in [nil, Sample.subject("b"), Subject(issuer: "x", id: owner?.id ?? "")] {
                try await expectRefused(journal, log, .contended) {
                    ($0.expecting, $0.subject) = (expected, Sample.subject("b"))
                    ($0.kept, $0.removed) = ([added], log.credentials.map(\.token))
                }
            }
            #expect(try await journal.load(added.token).get().isUnknown)
            #expect(try await journal.find(.subject(Sample.subject("b"))).get() == [])
        },
        JournalCheck("a credential's token that is another session's is refused, and nothing of the change is kept") {
            journal in
            let log = try await journal.newSignedIn([.sample(1)])
            let other = try await journal.newSignedIn([.sample(1), .sample(2)])
            let before = try await journal.picture(other)
            for token in [other.record.tokenHash] + other.credentials.map(\.token) {
                try await expectRefused(journal, log, .exists) {
                    $0.kept = [.sample(5), .sample(6, token: token)]
                    $0.removed = log.credentials.map(\.token)
                }
                // That session cannot remove it either.
                let change = CredentialChange(
                    session: log.key, expecting: log.record.subject, subject: log.record.subject, removed: [token],
                    tombstoneUntil: Sample.muchLater)
                _ = try await journal.change(change).get()
            }
            try await journal.reload()
            #expect(try await journal.picture(other) == before)
            #expect(try await journal.stored(other.credentials[0].token).key == other.key)
        },
        JournalCheck("a number that another credential has is contended: another writer took it first") { journal in
            let log = try await journal.newSignedIn([.sample(1), .sample(2)])
            try await expectRefused(journal, log, .contended) { $0.kept = [.sample(3), .sample(2)] }
            // A new one can get it together with the other one.
            let new = StoredCredential.sample(2)
            let change = CredentialChange(
                session: log.key, expecting: log.record.subject, subject: log.record.subject, kept: [new],
                removed: [log.credentials[1].token], tombstoneUntil: Sample.muchLater)
            _ = try await journal.change(change).get()
            try await journal.reload()
            #expect(try await journal.stored(log).credentials == [log.credentials[0], new])
        },
        JournalCheck("a token that is remembered as ended does not come back") { journal in
            let log = try await journal.newSignedIn([.sample(1), .sample(2)])
            let owner = log.record.subject
            let change = CredentialChange(
                session: log.key, expecting: owner, subject: owner, removed: [log.credentials[1].token],
                tombstoneUntil: Sample.muchLater)
            _ = try await journal.change(change).get()
            let unkept = Sample.tokenHash()
            _ = try await journal.bury(unkept, until: Sample.muchLater).get()
            for token in [log.credentials[1].token, unkept] {
                try await expectRefused(journal, log, .contended) { $0.kept = [.sample(3, token: token)] }
                #expect(try await journal.load(token).get().isEnded)
            }
        },
        JournalCheck("a change that names a token or a number twice is invalid") { journal in
            let log = try await journal.newSignedIn([.sample(1)])
            let new = StoredCredential.sample(2)
            try await expectRefused(journal, log, .invalid) { $0.kept = [new, .sample(3, token: new.token)] }
            try await expectRefused(journal, log, .invalid) { $0.kept = [new, .sample(2)] }
            try await expectRefused(journal, log, .invalid) { ($0.kept, $0.removed) = ([new], [new.token]) }
        },
        JournalCheck("the session's own token may be a credential's, and names the session without it too") { journal in
            let log = try await journal.newLog()
            let own = StoredCredential.sample(1, token: log.record.tokenHash, revokedUntil: Sample.later)
            let new = StoredCredential.sample(2)
            _ = try await journal.change(
                CredentialChange(session: log.key, expecting: nil, subject: Sample.subject("a"), kept: [own, new])
            ).get()
            try await journal.reload()
            #expect(try await journal.stored(log).credentials == [own, new])
            let change = CredentialChange(
                session: log.key, expecting: Sample.subject("a"), subject: Sample.subject("a"), removed: [own.token],
                tombstoneUntil: Sample.muchLater)
            _ = try await journal.change(change).get()
            try await journal.reload()
            #expect(try await journal.stored(log).credentials == [new])
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            for token in [own.token, new.token] { #expect(try await journal.load(token).get().isEnded) }
        },
        JournalCheck("a shared session does not become that of a subject that has one") { journal in
            let (first, second) = (Sample.subject("a"), Sample.subject("b"))
            let log = try await journal.newSignedIn([.sample(1)], isShared: true)
            _ = try await journal.newLog(Sample.session(subject: second, isShared: true), credential: .sample(1))
            #expect(log.record.subject == first)
            try await expectRefused(journal, log, .exists) { $0.subject = second }
            let third = Sample.subject("c")
            _ = try await journal.change(CredentialChange(session: log.key, expecting: first, subject: third)).get()
            try await journal.reload()
            #expect(try await journal.find(.shared(third)).get().map(\.id) == [log.record.id])
            #expect(try await journal.find(.shared(first)).get() == [])
        },
        JournalCheck("of eight who sign in to an anonymous session one succeeds") { journal in
            var logs: [Log] = []
            for _ in 0..<50 { logs.append(try await journal.newLog()) }
            let all = logs
            let results = try await eachOfEight { writer in
                var results: [StoreError.Code?] = []
                for log in all {
                    let subject = Sample.subject("\(writer)")
                    let change = CredentialChange(
                        session: log.key, expecting: nil, subject: subject, kept: [.sample(1, name: "\(writer)")])
                    results.append(try await journal.change(change).failure)
                }
                return results
            }
            try await journal.reload()
            for (index, log) in logs.enumerated() {
                let winners = (0..<8).filter { results[$0][index] == nil }
                try #require(winners.count == 1)
                #expect(results.compactMap { $0[index] } == Array(repeating: .contended, count: 7))
                let session = try await journal.stored(log)
                #expect(session.record.subject == Sample.subject("\(winners[0])"))
                #expect(session.credentials.map(\.principal) == [Sample.bytes("\(winners[0])")])
            }
        },
    ]

    /// Expects that a change is refused and that nothing of it is stored.
    private static func expectRefused(
        _ journal: TestedJournal, _ log: Log, _ code: StoreError.Code,
        sourceLocation: SourceLocation = #_sourceLocation, _ make: (inout CredentialChange) -> Void
    ) async throws {
        let before = try await journal.picture(log)
        var change = CredentialChange(
            session: log.key, expecting: log.record.subject, subject: log.record.subject,
            tombstoneUntil: Sample.muchLater)
        make(&change)
        #expect(try await journal.change(change).failure == code, sourceLocation: sourceLocation)
        try await journal.reload()
        #expect(try await journal.picture(log) == before, sourceLocation: sourceLocation)
        for credential in try await journal.stored(log).credentials {
            #expect(try await journal.stored(credential.token).key == log.key, sourceLocation: sourceLocation)
        }
    }
}
