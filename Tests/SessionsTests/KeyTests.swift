import Locking
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Changes of the keys that prove tokens")
struct KeyTests {
    private static let life: Duration = .seconds(1_000)
    private let journal = MemoryJournal()
    private let time = ManualTime()

    /// Creates a process with the same journal.
    private func process(life: Duration = life) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.sessionLife = life
        return SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Tally())]), limits: limits, journal: journal,
                time: time.source))
    }

    private func rotate(in lead: Duration = .zero) {
        let now = time.source.sinceEpoch()
        journal.replaceSecret { $0.rotated(now: now, since: now + lead, tokenLife: Self.life) }
    }

    private func isUnknown(_ token: SessionToken) throws -> Bool {
        if case .unknown = try process().found(token) { true } else { false }
    }

    @Test func `a token of a former key is valid for the same session until it expires`() throws {
        let new = try process().new(.bearer)
        let epoch = try process().live(new.token).epoch
        for _ in 1...3 {
            rotate()
            time.advance(by: .seconds(250))
            let session = try process().live(new.token)
            #expect(session.id == new.id && session.epoch == epoch)
        }
        time.advance(by: .seconds(250))
        #expect(try process().isEnded(new.token))
    }

    @Test func `new tokens are proven by the new key alone`() throws {
        let old = try process().new(.bearer)
        rotate()
        let new = try process().new(.bearer)
        #expect(try process().live(new.token).id == new.id)
        journal.replaceSecret { secret in JournalSecret(key: secret.key, generation: secret.generation) }
        #expect(try process().live(new.token).id == new.id)
        #expect(try isUnknown(old.token))
    }

    @Test func `a former key proves no token that outlives it`() throws {
        // A token that is made with a stolen key.
        let token = try process(life: .seconds(100_000)).new(.bearer).token
        #expect(try !isUnknown(token))
        rotate()
        #expect(try isUnknown(token))
    }

    @Test func `until a new key starts, the former one proves tokens, and servers that know both accept both`() throws {
        let before = JournalSecret.random()
        let now: Duration = .seconds(5_000)
        let since = now + .seconds(60)
        let after = try #require(before.rotated(now: now, since: since, tokenLife: Self.life))
        let late = SessionSeal(before, now: now)
        let (early, begun) = (SessionSeal(after, now: since - .seconds(1)), SessionSeal(after, now: since))
        let (first, second) = (early.token(.bearer, until: since), begun.token(.cookie, until: since))
        #expect(late.claim(of: first) != nil && late.claim(of: second) == nil)
        for seal in [early, begun] {
            #expect(seal.claim(of: first)?.credential == .bearer)
            #expect(seal.claim(of: second)?.credential == .cookie)
        }
        // A key that some servers do not know yet is not replaced.
        #expect(after.rotated(now: since - .seconds(1), since: since, tokenLife: Self.life) == nil)
        #expect(after.rotated(now: since, since: since, tokenLife: Self.life)?.formerKeys.count == 2)
    }

    @Test func `a server that reads the secret again knows tokens of the new key`() throws {
        let here = try process()
        let old = try here.new(.bearer)
        rotate()
        let new = try process().new(.bearer)
        guard case .unknown = try here.found(new.token) else {
            Issue.record("the key was read without being asked for")
            return
        }
        here.refreshSeal()
        #expect(try here.live(new.token).id == new.id && here.live(old.token).id == old.id)
    }
}

@Suite("Tokens of sessions that have ended")
struct EndedTokenTests {
    /// Creates a table that remembers one ended session in each of its shards.
    private func fixture(_ journal: MemoryJournal = MemoryJournal()) throws -> Fixture {
        try Fixture(journal: journal) { $0.sessions = SessionTable.shardCount }
    }

    @Test func `a token that the journal remembers is not forgotten when many others end`() throws {
        let fixture = try fixture()
        try fixture.send(#"{"type":"add","amount":1}"#)
        let kept = fixture.token
        let unkept = try fixture.table.new(.bearer).token
        for token in [kept, unkept] { try fixture.table.ended(try fixture.table.live(token)) }
        for _ in 0..<(8 * SessionTable.shardCount) {
            try fixture.table.ended(try fixture.table.live(try fixture.table.new(.bearer).token))
        }
        #expect(fixture.table.traceCount <= 2 * SessionTable.shardCount)
        for token in [kept, unkept] { #expect(try fixture.table.isEnded(token)) }
    }

    @Test func `a session that ends twice is remembered from its last end on`() throws {
        let fixture = try fixture()
        let hash = TokenHash(Array(repeating: 1, count: 32))
        fixture.table.bury(hash)
        fixture.time.advance(by: .seconds(1))
        fixture.table.bury(hash)
        let isRemembered = fixture.table.shard(hash).withLock { $0.tombstones[hash] != nil }
        #expect(isRemembered, "the first end's place took it along")
        #expect(fixture.table.traceCount == 2)
    }

    /// The random part alone is the secret: without it a client learns nothing, and the proof does not matter.
    @Test func `a token is identified by its random part, live and ended, in memory and not`() throws {
        let journal = MemoryJournal()
        let fixture = try fixture(journal)
        try fixture.send(#"{"type":"add","amount":1}"#)
        let variants = try fixture.token.variants
        for token in variants { #expect(try fixture.table.live(token).id == fixture.session.id) }
        try fixture.table.ended(fixture.session)
        for token in variants { #expect(try fixture.table.isEnded(token)) }
        let again = try self.fixture(journal)
        for token in variants { #expect(try again.table.isEnded(token)) }
        // A token with another random part is unknown, with any proof.
        for token in try fixture.token.strangers {
            guard case .unknown = try fixture.table.found(token) else {
                Issue.record("\(token.text) is known")
                return
            }
        }
    }
}

extension SessionToken {
    /// The token, the same with another proof, and the same without one.
    fileprivate var variants: [SessionToken] {
        get throws {
            try [text, text.dropLast(4) + "AAAA", String(text.prefix(43))].map { try #require(SessionToken($0)) }
        }
    }

    /// Tokens with another random part, and this one's proof or none.
    fileprivate var strangers: [SessionToken] {
        get throws {
            let random = (text.first == "A" ? "B" : "A") + text.dropFirst()
            return try [random, String(random.prefix(43))].map { try #require(SessionToken($0)) }
        }
    }
}
