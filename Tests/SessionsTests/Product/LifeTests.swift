import Locking
import MVI
import MVITesting
import SessionJournal
import Testing

@testable import Sessions

@Suite("72: lifetimes of sessions and credentials")
struct LifeTests {
    private static let day: Duration = .seconds(24 * 3600)
    private let anna = Principal(issuer: "i", subject: "anna")

    private func fixture(
        kept: MemoryJournal = MemoryJournal(), time: ManualTime = ManualTime(),
        _ change: (inout SessionLimits) -> Void = { _ in }
    ) throws -> ProductFixture {
        try ProductFixture(kept: kept, time: time) { limits in
            limits = SessionLimits()
            change(&limits)
        }
    }

    /// A device of the subject's shared session.
    private func device(_ fixture: ProductFixture) async throws -> (token: SessionToken, session: Session) {
        let (made, session) = try await fixture.table.create(.bearer, for: anna, isShared: true).get()
        return (made.token, session)
    }

    /// The reason why a client is refused now; nil if it is not.
    private func refusal(_ fixture: ProductFixture, _ token: SessionToken) throws -> StoreError.Code? {
        guard case .live(let session, let credential) = try fixture.table.found(token) else { return .gone }
        return session.refusal(of: SessionClient(credential))?.code
    }

    @Test func `a subject's session goes on for 400 days of use; a device that is not used is signed out on day 31`()
        async throws
    {
        let fixture = try fixture()
        let (phone, session) = try await device(fixture)
        let (tablet, _) = try await device(fixture)
        for day in 1...400 {
            fixture.time.advance(by: Self.day)
            fixture.table.sweep(part: 1)
            try #require(try refusal(fixture, phone) == nil, "day \(day)")
            if day == 29 || day == 31 || day == 399 {
                guard case .live(_, let unused?) = try fixture.table.found(tablet) else {
                    Issue.record("day \(day): the session is not there")
                    return
                }
                #expect(session.isUnused(unused) == (day > 58), "day \(day)")
                if day == 29 { continue }
            }
        }
        #expect(try refusal(fixture, tablet) == .identityExpired)
    }

    @Test func `a device that was not used is refused to the second, and a renewed identity admits it again`()
        async throws
    {
        let fixture = try fixture()
        let (token, session) = try await device(fixture)
        fixture.time.advance(by: Self.day * 30 - .seconds(1))
        #expect(try refusal(fixture, token) == nil)
        fixture.time.advance(by: Self.day * 30)
        // Also if it asks again and again.
        for _ in 0..<2 { #expect(try refusal(fixture, token) == .identityExpired) }
        guard case .live(_, let credential?) = try fixture.table.found(token) else { throw StoreError.sessionEnded }
        let renewed = await fixture.table.identify(
            session, token, credential, as: anna, proof: ProofHash.of("new"))
        guard case .renewed = try renewed.get() else { throw StoreError.sessionEnded }
        #expect(try refusal(fixture, token) == nil)
        #expect(session.expiresAt(for: credential) == fixture.time.source.sinceEpoch() + Self.day * 30)
    }

    @Test func `the last use survives a restart to a day, also without a turn`() async throws {
        let kept = MemoryJournal()
        let fixture = try fixture(kept: kept)
        let (token, _) = try await device(fixture)
        fixture.time.advance(by: Self.day * 20)
        #expect(try refusal(fixture, token) == nil)
        fixture.table.sweep(part: 1)
        fixture.time.advance(by: Self.day * 29)
        let restarted = try self.fixture(kept: kept, time: fixture.time)
        #expect(try refusal(restarted, token) == nil)
        await restarted.table.flush()
        fixture.time.advance(by: Self.day * 31)
        let late = try self.fixture(kept: kept, time: fixture.time)
        #expect(try refusal(late, token) == .identityExpired)
    }

    @Test func `an open stream counts as use of its credential`() async throws {
        let kept = MemoryJournal()
        let fixture = try fixture(kept: kept)
        let (token, session) = try await device(fixture)
        guard case .live(_, let credential?) = try fixture.table.found(token) else { throw StoreError.sessionEnded }
        let opened = Box<Result<SessionStream, StoreError>>()
        session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
        let stream = try #require(opened.value).get()
        for _ in 0..<60 {
            fixture.time.advance(by: Self.day)
            fixture.table.sweep(part: 1)
        }
        stream.closed()
        #expect(try refusal(fixture, token) == nil)
        let restarted = try self.fixture(kept: kept, time: fixture.time)
        #expect(try refusal(restarted, token) == nil)
    }

    @Test func `a shared session outlives all its devices' credentials, and another device finds its stores`()
        async throws
    {
        let kept = MemoryJournal()
        let first = try fixture(kept: kept)
        let (token, session) = try await device(first)
        guard case .live(_, let credential?) = try first.table.found(token) else { throw StoreError.sessionEnded }
        let answer = Answer()
        session.send(
            IntentRequest(body: Array(#"{"type":"put","items":3}"#.utf8), client: SessionClient(credential)),
            to: first.basket
        ) { answer.set($0) }
        _ = try #require(answer.value).get()
        first.time.advance(by: Self.day * 399)
        let second = try fixture(kept: kept, time: first.time)
        second.table.sweep(part: 1)
        let (_, again) = try await device(second)
        #expect(again.id == session.id && again.hasStore(second.basket))
        second.time.advance(by: Self.day * 402)
        let third = try fixture(kept: kept, time: first.time)
        third.table.sweep(part: 1)
        #expect(try await device(third).session.id != session.id)
    }

    @Test func `a session that only one credential uses ends with it, and not like an anonymous one`() async throws {
        let kept = MemoryJournal()
        let fixture = try fixture(kept: kept)
        let (made, session) = try await fixture.table.create(.bearer, for: anna, isShared: false).get()
        // Its client is told to sign in again for another day.
        for (hours, expected) in [(29 * 24, nil), (30 * 24 + 12, .identityExpired), (4 * 24, .gone)]
            as [(Int, StoreError.Code?)]
        {
            fixture.time.advance(by: .seconds(3600 * hours))
            let restarted = try self.fixture(kept: kept, time: fixture.time)
            restarted.table.sweep(part: 1)
            #expect(try refusal(restarted, made.token) == expected)
            await restarted.table.flush()
        }
        _ = session
    }

    @Test func `a changed lifetime acts at the next sweep on sessions of its class only`() async throws {
        let kept = MemoryJournal()
        let before = try fixture(kept: kept)
        try before.send(#"{"type":"put","items":3}"#, to: before.basket)
        let (phone, _) = try await device(before)
        let (made, _) = try await before.table.create(.bearer, for: anna, isShared: false).get()
        before.time.advance(by: .seconds(2 * 3600))
        let after = try fixture(kept: kept, time: before.time) { $0.sessionLife = .seconds(3600) }
        after.table.sweep(part: 1)
        #expect(try refusal(after, before.token) == .gone)
        #expect(try refusal(after, phone) == nil && refusal(after, made.token) == nil)
        let forever = try fixture(kept: kept, time: before.time) { $0.subjectLife = SessionLimits.forever }
        before.time.advance(by: Self.day * 40_000)
        forever.table.sweep(part: 1)
        #expect(try await awaitResult { kept.find(.shared(anna.identity), limit: 1, done: $0) }.get().count == 1)
    }
}
