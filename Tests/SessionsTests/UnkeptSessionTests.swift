import EventStream
import Locking
import MVI
import Networks
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Sessions that are not stored yet")
struct UnkeptSessionTests {
    private let journal = MemoryJournal()
    private let time = ManualTime()
    private let tally = FeatureID(name: "tally", key: nil)
    private let add = #"{"type":"add","amount":1}"#

    /// Creates a process with the same journal.
    private func process(
        _ journal: (any Journal)? = nil, life: Duration = .seconds(1_000), sessions: Int = 100_000
    ) throws -> SessionTable {
        var limits = SessionLimits.patient
        (limits.sessionLife, limits.sessions) = (life, sessions)
        return SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Tally())]), limits: limits,
                journal: journal ?? self.journal, time: time.source))
    }

    private func isKept(_ id: String) throws -> Bool {
        let found = Box<Result<SessionExport?, StoreError>>()
        journal.export(id) { found.set($0) }
        return try #require(found.value).get() != nil
    }

    @Test func `a session takes no memory and no place in the journal before something happens in it`() throws {
        let table = try process()
        let ids = try (0..<1_000).map { _ in try table.new(.bearer).id }
        #expect(table.count == 0)
        for id in ids { #expect(try !isKept(id)) }
        #expect(Set(ids).count == 1_000)
    }

    @Test(arguments: [SessionCredential.bearer, .cookie])
    func `its token names the same session after a restart and in another process`(
        credential: SessionCredential
    ) throws {
        let new = try process().new(credential)
        let first = try process().live(new.token)
        let second = try process().live(new.token)
        #expect(first !== second)
        for session in [first, second] {
            #expect(session.id == new.id && session.credential == credential)
            #expect(session.epoch == first.epoch)
            #expect(session.expiresAt(for: nil) == new.expiresAt)
        }
        #expect(try !isKept(new.id))
    }

    @Test func `the first turn stores it, and a restart finds it`() throws {
        let new = try process().new(.bearer)
        let session = try process().live(new.token)
        #expect(try session.told(add, to: tally) == "ran")
        #expect(try isKept(new.id))
        let again = try process().live(new.token)
        #expect(again.id == new.id && again.epoch == session.epoch)
        #expect(again.hasStore(tally))
        #expect(try again.told(add, to: tally) == "ran")
        #expect(again.core.withLock { $0.head.number } == session.core.withLock { $0.head.number } + 1)
    }

    @Test func `two processes that both have it before its first turn end up with one log`() async throws {
        let new = try process().new(.bearer)
        let (one, other) = (try process().live(new.token), try process().live(new.token))
        for session in [one, other, one] { #expect(await session.toldLater(add, to: tally) == "ran") }
        let text = try #require(one.shown(tally)).text
        #expect(text.contains(#""count":3"#))
    }

    @Test func `only the server can create a token that proves itself`() throws {
        let table = try process()
        let text = Array(try table.new(.bearer).token.text.utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let token = try #require(SessionToken(ArraySlice(changed)))
            // The last characters of both halves have unused bits.
            guard index != 42, index != text.count - 1 else { continue }
            guard case .unknown = try process().found(token) else {
                Issue.record("a token with another character at \(index) names a session")
                return
            }
        }
        // A server with another journal did not issue it.
        let token = try #require(SessionToken(ArraySlice(text)))
        guard case .unknown = try process(MemoryJournal()).found(token) else {
            Issue.record("another server's token names a session")
            return
        }
    }

    @Test func `its lifetime ends as in its token, even after a restart`() throws {
        let new = try process().new(.bearer)
        time.advance(by: .seconds(999))
        _ = try process().live(new.token)
        time.advance(by: .seconds(1))
        guard case .ended = try process().found(new.token) else {
            Issue.record("it was not ended at the end of its life")
            return
        }
        time.advance(by: .seconds(600))
        guard case .unknown = try process().found(new.token) else {
            Issue.record("it is remembered longer than ended sessions are")
            return
        }
    }

    @Test func `one that is used long after its creation lives on after a restart`() async throws {
        let table = try process()
        let new = try table.new(.bearer)
        time.advance(by: .seconds(50))
        _ = try table.live(new.token)
        table.sweep(part: 1)
        #expect(try !isKept(new.id))
        time.advance(by: .seconds(800))
        _ = try table.live(new.token)
        await table.flush()
        #expect(try isKept(new.id))
        time.advance(by: .seconds(300))
        let session = try process().live(new.token)
        #expect(session.id == new.id)
        #expect(try session.told(add, to: tally) == "ran")
    }

    @Test func `one that was ended stays ended as long as its token proves itself`() throws {
        let table = try process()
        let new = try table.new(.bearer)
        try table.ended(try table.live(new.token))
        for wait in [0, 1, 500, 400] {
            time.advance(by: .seconds(wait))
            table.sweep(part: 1)
            guard case .ended = try process().found(new.token) else {
                Issue.record("it came back")
                return
            }
        }
    }

    @Test func `beyond its network's share, one that was ended is remembered only for a while`() throws {
        let table = try process(sessions: 32)
        let crowd = try #require(PeerAddress("192.0.2.1"))
        func end(from address: PeerAddress) throws -> SessionToken {
            let new = try table.new(.bearer)
            let session = try table.live(new.token)
            session.noteOrigin(address)
            try table.ended(session)
            return new.token
        }
        let tokens = try (0..<3).map { _ in try end(from: crowd) }
        let other = try end(from: try #require(PeerAddress("192.0.2.2")))
        for token in tokens + [other] { #expect(try process().isEnded(token)) }
        time.advance(by: .seconds(700))
        for (token, isEnded) in zip(tokens + [other], [true, true, false, true]) {
            #expect(try process().isEnded(token) == isEnded)
        }
        // The shares are free again when the tokens are over.
        time.advance(by: .seconds(300))
        let next = try end(from: crowd)
        time.advance(by: .seconds(700))
        #expect(try process().isEnded(next))
    }

    @Test func `one that a turn stored while it was being ended does not return`() throws {
        let journal = HeldJournal(self.journal)
        let table = try process(journal)
        let new = try table.new(.bearer)
        let session = try table.live(new.token)
        journal.beforeNextBury { [tally] in
            session.deliver(
                .intent(Tally.Intent.add(amount: 1), of: Tally.self), to: tally, once: nil, makesStore: true
            ) { _ in }
        }
        try table.ended(session)
        #expect(try !isKept(new.id))
        for table in [table, try process()] { #expect(try table.isEnded(new.token)) }
    }

    @Test func `one that is looked up while it is being ended does not return`() throws {
        let journal = HeldJournal(self.journal)
        let table = try process(journal)
        let new = try table.new(.bearer)
        let session = try table.live(new.token)
        time.advance(by: .seconds(700))
        table.sweep(part: 1)
        #expect(table.count == 0)
        journal.holdLoadAnswers()
        let found = Box<SessionLookup>()
        table.find(new.token) { found.set($0) }
        try table.ended(session)
        journal.releaseLoads()
        guard case .ended? = found.value else {
            Issue.record("it came back")
            return
        }
        #expect(table.count == 0)
    }

    @Test func `one that is in memory is found by its id`() async throws {
        let table = try process()
        let new = try table.new(.bearer)
        #expect(try await table.records(.id(new.id)).isEmpty)
        _ = try table.live(new.token)
        let record = try #require(try await table.records(.id(new.id)).first)
        #expect(record.id == new.id && record.tokenHash == new.token.hash)
        let result = await table.deliver(
            .intent(Tally.Intent.add(amount: 1), of: Tally.self), to: tally, of: record, once: nil, makesStore: true)
        #expect(throws: Never.self) { try result.get() }
        #expect(try await table.records(.id(new.id)).count == 1)
    }

    @Test func `a session is not created while the journal cannot provide the secret`() throws {
        let journal = HeldJournal()
        journal.fail(.unavailable)
        let table = try process(journal)
        #expect(throws: StoreError.self) { try table.new(.bearer) }
        journal.fail(nil)
        _ = try table.live(try table.new(.bearer).token)
    }

    @Test func `a first turn that cannot be stored is refused, and the next one stores both`() throws {
        let journal = HeldJournal()
        let table = try process(journal)
        let session = try table.live(try table.new(.bearer).token)
        journal.fail(.full)
        #expect(try session.told(add, to: tally) == "full")
        journal.fail(nil)
        #expect(try session.told(add, to: tally) == "ran")
        #expect(session.core.withLock { $0.key } != nil)
    }
}
