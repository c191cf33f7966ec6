import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Who is signed in to a session")
struct IdentityTests {
    private static let proof = ProofHash.of("a proof")

    private func principal(_ subject: String = "anna", tier: String = "free", expiry: Timestamp? = nil) -> Principal {
        Principal(issuer: "i", subject: subject, claims: ["tier": .string(tier)], expiry: expiry)
    }

    private func signIn(
        _ fixture: ProductFixture, as principal: Principal, proof: [UInt8] = proof
    ) async throws -> (credential: Credential, token: SessionToken) {
        let result = await fixture.table.identify(fixture.session, fixture.token, nil, as: principal, proof: proof)
        guard case .signedIn(_, let credential, let token) = try result.get() else { throw NotSignedIn() }
        return (credential, token)
    }

    private struct NotSignedIn: Error {}

    @Test("signing in keeps the stores, replaces the credential, and tells the stores")
    func signsIn() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        let (credential, token) = try await signIn(fixture, as: principal())
        #expect(credential.principal?.subject == "anna")
        let basket = try fixture.state(Trolley.State.self, fixture.basket, for: credential)
        #expect(basket.items == 3 && basket.owner == "anna")
        guard case .live(let session, let found) = try fixture.table.found(token) else { throw NotSignedIn() }
        #expect(session === fixture.session)
        #expect(found === credential)
    }

    @Test("a token from before the sign-in is invalid, in memory or after a load")
    func oldTokenIsDead() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        let (_, token) = try await signIn(fixture, as: principal())
        guard case .live(_, let old?) = try fixture.table.found(fixture.token) else { throw NotSignedIn() }
        #expect(old.isRevoked)
        let second = try ProductFixture(kept: kept, time: fixture.time)
        guard case .live(_, let loaded?) = try second.table.found(fixture.token) else { throw NotSignedIn() }
        #expect(loaded.isRevoked)
        guard case .live(_, let good?) = try second.table.found(token) else { throw NotSignedIn() }
        #expect(!good.isRevoked)
        #expect(good.principal?.subject == "anna")
    }

    @Test("a sign-in by another process is noticed when the session catches up")
    func elsewhere() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        let second = try ProductFixture(kept: kept, time: fixture.time)
        let there = try second.table.live(fixture.token)
        let stream = try there.opened(.all, from: .now)
        _ = try stream.read()
        let (_, token) = try await signIn(fixture, as: principal())
        there.catchUp()
        #expect(try stream.read().last?.json.reason == "identity")
        guard case .live(_, let old?) = try second.table.found(fixture.token) else { throw NotSignedIn() }
        #expect(old.isRevoked)
        guard case .live(let same, let new?) = try second.table.found(token) else { throw NotSignedIn() }
        #expect(same === there && !new.isRevoked)
        #expect(same.isSignedIn)
    }

    @Test("56: a check judges anew for a principal that changed before the turn, and once for one that did not")
    func checkedAnew() async throws {
        for tier in ["free", "paid"] {
            let (gate, asked) = (Gate(), Collected<String>())
            var till = Till()
            till.prices = { item in
                asked.append(item)
                try await gate.wait()
                return 5
            }
            let fixture = try ProductFixture(till: till)
            let (credential, token) = try await signIn(fixture, as: principal())
            let answer = Box<IntentResult>()
            fixture.session.send(
                IntentRequest(
                    body: Array(#"{"type":"buy","item":"tea"}"#.utf8), client: SessionClient(credential)),
                to: fixture.till
            ) { answer.set($0) }
            await asked.atLeast(1)
            _ = try await fixture.table.identify(
                fixture.session, token, credential, as: principal(tier: tier), proof: ProofHash.of("another")
            ).get()
            gate.open()
            while answer.value == nil { await Task.yield() }
            #expect(try answer.value?.get().refusal == nil)
            #expect(asked.all.count == (tier == "free" ? 1 : 2))
        }
    }

    @Test("streams opened before the sign-in end, and none can be opened with the old token")
    func oldStreamsEnd() async throws {
        let fixture = try ProductFixture()
        let stream = try fixture.session.opened(.all, from: .now)
        _ = try stream.read()
        let (credential, _) = try await signIn(fixture, as: principal())
        let farewell = try #require(try stream.read().last)
        #expect(farewell.name == "goaway")
        #expect(try farewell.json.reason == "identity")
        let refused = Box<Result<SessionStream, StoreError>>()
        fixture.session.openStream(.all, from: .now) { refused.set($0) }
        #expect(throws: StoreError.self) { try refused.value?.get() }
        let opened = Box<Result<SessionStream, StoreError>>()
        fixture.session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
        #expect(throws: Never.self) { try opened.value?.get() }
    }

    @Test("a sign-in that is repeated with the old token and the same proof is answered the same, for a minute")
    func repeated() async throws {
        let fixture = try ProductFixture()
        let (_, token) = try await signIn(fixture, as: principal())
        let (_, again) = try await signIn(fixture, as: principal())
        #expect(token == again)
        let other = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal(), proof: ProofHash.of("another proof"))
        #expect(throws: StoreError.self) { try other.get() }
        fixture.time.advance(by: .seconds(61))
        let late = await fixture.table.identify(fixture.session, fixture.token, nil, as: principal(), proof: Self.proof)
        #expect(throws: StoreError.self) { try late.get() }
    }

    @Test("two sign-ins at once: one subject has the session, the other is told so")
    func raced() async throws {
        let fixture = try ProductFixture()
        async let first = fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal("anna"), proof: ProofHash.of("anna"))
        async let second = fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal("bert"), proof: ProofHash.of("bert"))
        let results = await [first, second]
        #expect(results.count { (try? $0.get()) != nil } == 1)
        let failed = results.compactMap { result -> StoreError.Code? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(failed == [.otherIdentity])
    }

    @Test("another subject cannot take a session over")
    func otherSubject() async throws {
        let fixture = try ProductFixture()
        let (credential, _) = try await signIn(fixture, as: principal("anna"))
        let result = await fixture.table.identify(
            fixture.session, fixture.token, credential, as: principal("bert"), proof: Self.proof)
        guard case .failure(let error) = result else { throw NotSignedIn() }
        #expect(error.code == .otherIdentity)
        #expect(credential.principal?.subject == "anna")
    }

    @Test(
        "a sign-in that cannot be committed lets the anonymous client go on, if its outcome is unknown after a look",
        arguments: [StoreError.Code.full, .unavailable])
    func notKept(_ code: StoreError.Code) async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        fixture.journal.fail(code)
        let result = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal(), proof: Self.proof)
        #expect(throws: StoreError.self) { try result.get() }
        fixture.journal.fail(nil)
        guard case .live(_, nil) = try fixture.table.found(fixture.token) else { throw NotSignedIn() }
        #expect(try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket).code == nil)
        let (credential, _) = try await signIn(fixture, as: principal())
        #expect(try fixture.state(Trolley.State.self, fixture.basket, for: credential).items == 4)
    }

    @Test("while a sign-in is committed the anonymous token is refused")
    func signingIn() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        fixture.journal.holdChanges()
        let (session, token, table) = (fixture.session, fixture.token, fixture.table)
        async let result = table.identify(session, token, nil, as: principal(), proof: Self.proof)
        try await fixture.journal.untilChangeHeld()
        #expect(throws: StoreError.self) { try session.stateNow(of: fixture.basket) }
        fixture.journal.releaseChanges()
        _ = try await result.get()
    }

    @Test("the next intent has the renewed principal, even after a restart")
    func renewed() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        let (credential, token) = try await signIn(fixture, as: principal())
        let result = await fixture.table.identify(
            fixture.session, fixture.token, credential, as: principal(tier: "premium"), proof: ProofHash.of("newer"))
        guard case .renewed = try result.get() else { throw NotSignedIn() }
        #expect(credential.principal?.claim("tier") == "premium")
        let second = try ProductFixture(kept: kept, time: fixture.time)
        guard case .live(_, let loaded?) = try second.table.found(token) else { throw NotSignedIn() }
        #expect(loaded.principal?.claim("tier") == "premium")
        // The old token's own row is valid for a repetition only.
        let again = await fixture.table.identify(
            fixture.session, fixture.token, credential, as: principal(tier: "free"), proof: ProofHash.of("newest"))
        #expect(throws: Never.self) { try again.get() }
    }

    @Test("devices of a subject share one session, each with a credential of its own")
    func shared() async throws {
        let fixture = try ProductFixture()
        let (phone, session) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        let (tablet, same) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        let (other, theirs) = try await fixture.table.create(.bearer, for: principal("bert"), isShared: true).get()
        let (own, alone) = try await fixture.table.create(.bearer, for: principal(), isShared: false).get()
        #expect(session === same)
        #expect(session !== theirs && session !== alone)
        #expect(Set([phone, tablet, other, own].map { $0.token.text }).count == 4)
        guard case .live(_, let first?) = try fixture.table.found(phone.token),
            case .live(_, let second?) = try fixture.table.found(tablet.token)
        else { throw NotSignedIn() }
        #expect(first.number != second.number)
    }

    @Test("two devices that join at once share one session")
    func joinedAtOnce() async throws {
        let fixture = try ProductFixture()
        let sessions = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try await fixture.table.create(
                        .bearer, for: Principal(issuer: "i", subject: "anna"), isShared: true
                    ).get().0.id
                }
            }
            var ids: Set<String> = []
            for try await id in group { ids.insert(id) }
            return ids
        }
        #expect(sessions.count == 1)
    }

    @Test("one device signs out, the other continues; everywhere ends the session")
    func signsOut() async throws {
        let fixture = try ProductFixture()
        let (phone, session) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        let (tablet, _) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        guard case .live(_, let first?) = try fixture.table.found(phone.token),
            case .live(_, let second?) = try fixture.table.found(tablet.token)
        else { throw NotSignedIn() }
        let streams = [first, second].map { credential in
            let opened = Box<Result<SessionStream, StoreError>>()
            session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
            return opened.value.flatMap { try? $0.get() }.map { TestStream($0) }
        }
        for stream in streams { _ = try stream?.read() }
        await withCheckedContinuation { continuation in
            fixture.table.end(session, SessionClient(first), everywhere: false) { _ in continuation.resume() }
        }
        #expect(try streams[0]?.read().last?.json.reason == "ended")
        #expect(try streams[1]?.read().isEmpty == true)
        #expect(try fixture.table.isEnded(phone.token))
        guard case .live = try fixture.table.found(tablet.token) else { throw NotSignedIn() }
        await withCheckedContinuation { continuation in
            fixture.table.end(session, SessionClient(second), everywhere: true) { _ in continuation.resume() }
        }
        #expect(try fixture.table.isEnded(tablet.token))
    }

    @Test("receipts, rates and waits of a shared session are each device's own")
    func ownReceipts() async throws {
        let fixture = try ProductFixture()
        let (phone, session) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        let (tablet, _) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        var items = ""
        for token in [phone.token, tablet.token] {
            guard case .live(_, let credential?) = try fixture.table.found(token) else { throw NotSignedIn() }
            let answer = Answer()
            session.send(
                IntentRequest(
                    body: Array(#"{"type":"put","items":1}"#.utf8), name: .key("same"),
                    client: SessionClient(credential)),
                to: fixture.basket
            ) { answer.set($0) }
            #expect(try await answer.wait().get().isReplayed == false)
            items = String(decoding: try session.stateNow(of: fixture.basket, for: credential).view, as: UTF8.self)
        }
        #expect(items.contains(#""items":2"#))
    }

    @Test("a stream is told before its principal expires, and ends with it")
    func expires() async throws {
        let fixture = try ProductFixture()
        let now = Timestamp(sinceEpoch: fixture.time.source.sinceEpoch())
        let (credential, _) = try await signIn(fixture, as: principal(expiry: now + .seconds(600)))
        let opened = Box<Result<SessionStream, StoreError>>()
        fixture.session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
        let stream = TestStream(try #require(opened.value).get())
        _ = try stream.read()
        await fixture.clock.sleepers(atLeast: 1)
        var names: [String] = []
        for _ in 0..<100 where !names.contains("goaway") {
            fixture.time.advance(by: .seconds(15))
            fixture.clock.advance(by: .seconds(15))
            repeat {
                names += try stream.read().names
                await Task.yield()
            } while fixture.clock.sleeperCount == 0 && !names.contains("goaway")
        }
        #expect(names == ["identity", "goaway"])
        #expect(fixture.time.source.sinceEpoch() == now.sinceEpoch + .seconds(600))
    }

    @Test("a stream that is opened when all others have closed is told of its principal's expiry too")
    func watchedAgain() async throws {
        let fixture = try ProductFixture()
        let now = Timestamp(sinceEpoch: fixture.time.source.sinceEpoch())
        let (credential, _) = try await signIn(fixture, as: principal(expiry: now + .seconds(120)))
        func open() throws -> TestStream {
            let opened = Box<Result<SessionStream, StoreError>>()
            fixture.session.openStream(.all, from: .now, for: SessionClient(credential)) { opened.set($0) }
            return TestStream(try #require(opened.value).get())
        }
        let first = try open()
        await fixture.clock.sleepers(atLeast: 1)
        first.stream.closed()
        // The watch finds nothing more to watch, and ends.
        fixture.time.advance(by: .seconds(60))
        fixture.clock.advance(by: .seconds(60))
        while fixture.clock.sleeperCount > 0 { await Task.yield() }
        let second = try open()
        _ = try second.read()
        await fixture.clock.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(60))
        fixture.clock.advance(by: .seconds(60))
        var names: [String] = []
        while !names.contains("goaway") {
            names += try second.read().names
            await Task.yield()
        }
        #expect(names.last == "goaway")
    }

    @Test("a new watch of a principal's expiry replaces the earlier one and is not ended by it")
    func watches() async throws {
        let fixture = try ProductFixture()
        let (credential, _) = try await signIn(fixture, as: principal())
        let first = try #require(credential.beginWatch())
        #expect(credential.beginWatch() == nil)
        credential.endWatch()
        let second = try #require(credential.beginWatch())
        let late = Task<Void, Never> { while !Task.isCancelled { await Task.yield() } }
        credential.attach(late, to: first)
        await late.value
        credential.endWatch(first)
        #expect(credential.beginWatch() == nil)
        credential.endWatch(second)
        #expect(credential.beginWatch() != nil)
    }
}
