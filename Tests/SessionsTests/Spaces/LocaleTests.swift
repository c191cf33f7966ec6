import Locking
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("85: views by the locale of clients")
struct LocaleTests {
    private let german = ClientSettings(locale: "de-AT", timeZone: nil)
    private let english = ClientSettings(locale: "en", timeZone: nil)

    private func set(_ settings: ClientSettings?, of client: SpaceClient) async throws {
        try await client.fixture.table.set(settings, of: client.session, client.credential)
    }

    private func client(_ fixture: SpaceFixture, isSignedIn: Bool) async throws -> SpaceClient {
        isSignedIn ? try await fixture.user("ann") : try fixture.guest()
    }

    @Test(
        "a changed locale shows the new audience's whole view in each of a stream's spaces, and nothing between",
        arguments: [false, true])
    func changed(isSignedIn: Bool) async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try await client(fixture, isSignedIn: isSignedIn), try fixture.guest())
        let (reader, other) = (try ann.stream("door:inn", "door:bar", delta: .mergePatch), try bob.stream("door:inn"))
        #expect(try reader.events().filter { $0.contains("Be there") }.count == 2)
        _ = try other.events()
        let wakes = reader.wakes
        try await set(german, of: ann)
        #expect(reader.wakes > wakes)
        let events = try reader.events()
        #expect(events.map(\.kind).sorted() == ["state door:bar", "state door:inn"])
        #expect(events.allSatisfy { $0.contains("pünktlich") })
        // Their own settings, not each other's.
        #expect(try other.events().isEmpty)
        try await set(german, of: ann)
        #expect(try reader.events().isEmpty)
        try await set(nil, of: ann)
        #expect(try reader.events().filter { $0.contains("Be there") }.count == 2)
    }

    @Test("a change that cannot be stored is an error, and changes nothing")
    func unstored() async throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(journal: journal)
        let ann = try await fixture.user("ann")
        journal.fail(.unavailable)
        await #expect(throws: StoreError.self) { try await set(german, of: ann) }
        #expect(ann.session.settings(of: ann.own) == nil)
    }

    @Test("a stream of another node shows a signed-in client's new locale")
    func nodes() async throws {
        let pair = try SpacePair()
        let ann = try await pair.here.user("ann")
        let there = try pair.moved(ann, to: pair.there)
        let reader = try there.stream("door:inn")
        #expect(try reader.events().contains { $0.contains("Be there") })
        try await set(german, of: ann)
        pair.pass(1)
        #expect(there.session.settings(of: there.own) == german)
        let events = try reader.events()
        #expect(events.map(\.kind) == ["state door:inn"] && events[0].contains("pünktlich"))
    }

    @Test("the locale of a session that is not stored is in its token, and a later one is stored")
    func unkept() async throws {
        let pair = try SpacePair()
        let ann = try pair.here.guest(german)
        let there = try pair.moved(ann, to: pair.there)
        for session in [ann.session, there.session] {
            #expect(session.settings(of: SessionClient()) == german)
            #expect(session.core.withLock { $0.key } == nil)
        }
        try await set(english, of: ann)
        pair.pass(6)
        #expect(try pair.moved(ann, to: pair.there).session.settings(of: SessionClient()) == english)
    }

    @Test("a token proves its locale")
    func forged() throws {
        let pair = try SpacePair()
        let ann = try pair.here.guest(german).token.text
        let others = try [english, nil].map { String(try pair.here.guest($0).token.text.dropFirst(73)) }
        for settings in others + [String(ann.dropFirst(73).dropLast()), "A"] {
            let token = try #require(SessionToken(ann.prefix(73) + settings))
            guard case .unknown = try pair.there.table.found(token) else {
                Issue.record("\(settings) names a session")
                continue
            }
        }
        #expect(try pair.there.table.live(#require(SessionToken(ann))).settings(of: SessionClient()) == german)
    }

    @Test("the longest values fit into a token")
    func longest() throws {
        let longest = ClientSettings(
            locale: String(repeating: "d", count: 64), timeZone: String(repeating: "z", count: 64))
        let token = try SpaceFixture().guest(longest).token
        #expect(SessionToken(token.text) == token)
    }

    @Test("what was read before a change does not undo it")
    func stale() async throws {
        let pair = try SpacePair()
        let ann = try await pair.here.user("ann")
        try await set(english, of: ann)
        let stale = try #require(try await news(of: ann))
        try await set(german, of: ann)
        ann.session.adoptSettings(stale)
        #expect(ann.session.settings(of: ann.own) == german)
        ann.session.adoptSettings(try #require(try await news(of: ann)))
        #expect(ann.session.settings(of: ann.own) == german)
    }

    private func news(of client: SpaceClient) async throws -> StoredSession? {
        let token = client.session.tokenHash
        let journal = client.session.shared.journal
        let load = try await awaitResult { journal.load(token, now: .zero, done: $0) }.get()
        if case .found(let stored) = load { return stored }
        return nil
    }
}
