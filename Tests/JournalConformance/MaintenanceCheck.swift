import MVI
import SessionJournal
import Testing

/// One promise of `JournalMaintenance` with its check.
///
/// The tests of an engine that outlives its process run all of them beside those of `JournalCheck`:
///
/// ```swift
/// @Test(arguments: MaintenanceCheck.all) func `tools keep their promises`(_ check: MaintenanceCheck) async throws {
///     let folder = try TemporaryFolder()
///     try await check.run(with: SQLiteJournalFile(directory: folder.path)) { try await folder.openJournal() }
/// }
/// ```
package struct MaintenanceCheck: Sendable, CustomTestStringConvertible {
    /// The promise as a sentence.
    package let name: String
    private let body: @Sendable (TestedJournal, any JournalMaintenance) async throws -> Void

    private init(
        _ name: String, body: @escaping @Sendable (TestedJournal, any JournalMaintenance) async throws -> Void
    ) {
        (self.name, self.body) = (name, body)
    }

    package var testDescription: String { name }

    /// Opens a journal, closes it while the tool is used, and records an issue for each violation of the promise.
    ///
    /// - Parameter open: Opens an engine without sessions; a later call, after `close`, opens the same one again.
    package func run(
        with tool: any JournalMaintenance, open: @escaping @Sendable () async throws -> any Journal
    ) async throws {
        try await JournalCheck(name) { try await body($0, tool) }.run(reopening: true, open: open)
    }

    /// All promises.
    package static let all: [MaintenanceCheck] = [
        MaintenanceCheck("a key that was replaced is known until the tokens that it proved are over") { journal, tool in
            let life: Duration = .seconds(1_000)
            let first = try await journal.secret().get()
            let now = max(Sample.start, first.since)
            try await journal.closed { try tool.rotateKey(now: now, tokenLife: life) }
            let second = try await journal.secret().get()
            #expect(second.key.count == 32 && second.key != first.key && second.generation == first.generation)
            #expect(second.formerKeys.first?.key == first.key)
            #expect(try #require(second.formerKeys.first).until >= max(now, second.since) + life)
            // No server proves tokens with a key that another one may not know.
            #expect(second.provingKey(at: second.since) == second.key && second.since <= now + JournalSecret.spread)
            if second.since > now { #expect(second.provingKey(at: now) == first.key) }

            let later = now + JournalSecret.spread
            try await journal.closed { try tool.rotateKey(now: later, tokenLife: life) }
            let third = try await journal.secret().get()
            #expect(third.formerKeys.prefix(2).map(\.key) == [second.key, first.key])
            #expect(Set([first.key, second.key, third.key]).count == 3)
            try await journal.reload()
            #expect(try await journal.secret().get() == third)

            let end = try #require(third.formerKeys.first).until
            try await journal.closed { try tool.rotateKey(now: end, tokenLife: life) }
            #expect(try await journal.secret().get().formerKeys.map(\.key) == [third.key])
        },
        MaintenanceCheck("after everybody was signed out no token names a session, and the sessions are kept") {
            journal, tool in
            let old = try await journal.secret().get()
            try await journal.closed { try tool.rotateKey(now: max(Sample.start, old.since), tokenLife: .seconds(9)) }
            let anonymous = try await journal.newLogWithStore()
            let subject = Sample.subject("ann")
            let (phone, other) = (StoredCredential.sample(1), StoredCredential.sample(1))
            let shared = try await journal.newLog(
                Sample.session(subject: subject, isShared: true), credential: phone)
            let own = try await journal.newLog(Sample.session(subject: subject), credential: other)
            let space = try await journal.newLogWithStore(Sample.space("board:a"))
            let ended = Sample.tokenHash()
            _ = try await journal.bury(ended, until: Sample.muchLater).get()
            let secret = try await journal.secret().get()
            let store = try await journal.store(of: anonymous)

            #expect(try await journal.closed { try tool.signOutAll() } == 3)

            let tokens = [anonymous, shared, own].map(\.record.tokenHash) + [phone.token, other.token]
            for token in tokens { #expect(try await journal.load(token).get().isUnknown) }
            #expect(try await journal.load(ended).get().isEnded)
            let renewed = try await journal.secret().get()
            #expect(renewed.key != secret.key && renewed.formerKeys.isEmpty && renewed.since == .zero)
            #expect(renewed.generation != secret.generation)

            // Those of spaces are of no client.
            #expect(try await journal.stored(space).record == space.record)
            // Each exists, under a token that nobody has.
            let found = try await journal.find(.subject(subject), limit: 10).get()
            #expect(Set(found.map(\.id)) == [shared.record.id, own.record.id])
            var names = Set<TokenHash>()
            for log in [anonymous, shared, own] {
                let session = try #require(try await journal.export(log.record.id).get()).session
                #expect(session.credentials.isEmpty && session.record.subject == log.record.subject)
                #expect(try await journal.stored(session.record.tokenHash).key == log.key)
                names.insert(session.record.tokenHash)
            }
            #expect(names.count == 3 && names.isDisjoint(with: tokens))
            let renamed = try #require(try await journal.export(anonymous.record.id).get()).session.record
            #expect(try await journal.store(of: Log(key: anonymous.key, record: renamed)) == store)

            // Devices that share a session return to it by signing in.
            let tablet = StoredCredential.sample(1)
            let change = CredentialChange(session: shared.key, expecting: subject, subject: subject, kept: [tablet])
            try await journal.change(change).get()
            try await journal.reload()
            #expect(try await journal.stored(tablet.token).key == shared.key)
        },
    ]
}
