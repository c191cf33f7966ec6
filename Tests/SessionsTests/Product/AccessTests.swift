import LibCrypto
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

@Suite("Access to a session, as it is taken away and given")
struct AccessTests {
    private static let proof = ProofHash.of("a proof")

    private func principal(_ subject: String = "anna", tier: String = "free") -> Principal {
        Principal(issuer: "i", subject: subject, claims: ["tier": .string(tier)])
    }

    private func device(_ fixture: ProductFixture) async throws -> (
        session: Session, client: SessionClient, SessionToken
    ) {
        let (made, session) = try await fixture.table.create(.bearer, for: principal(), isShared: true).get()
        guard case .live(_, let credential?) = try fixture.table.found(made.token) else { throw NotSignedIn() }
        return (session, SessionClient(credential), made.token)
    }

    private struct NotSignedIn: Error {}

    private func end(
        _ session: Session, _ client: SessionClient, _ fixture: ProductFixture, everywhere: Bool = false
    ) async -> StoreError.Code? {
        await withCheckedContinuation { continuation in
            fixture.table.end(session, client, everywhere: everywhere) { continuation.resume(returning: $0.code) }
        }
    }

    private func read(_ session: Session, _ client: SessionClient, _ feature: FeatureID) -> StoreError.Code? {
        let state = Box<Result<StateSnapshot, StoreError>>()
        session.state(of: feature, for: client) { state.set($0) }
        return state.value.map { $0.code } ?? .unavailable
    }

    @Test("66: a sign-out that cannot be kept keeps the client out all the same, and can be repeated")
    func signOutNotKept() async throws {
        let fixture = try ProductFixture()
        let (session, phone, _) = try await device(fixture)
        let (_, tablet, _) = try await device(fixture)
        fixture.journal.fail(.unavailable)
        #expect(await end(session, phone, fixture) == .unavailable)
        fixture.journal.fail(nil)
        #expect(read(session, phone, fixture.basket) == .signedOut)
        #expect(read(session, tablet, fixture.basket) == nil)
        // It may only repeat its own sign-out.
        #expect(await end(session, phone, fixture, everywhere: true) == .signedOut)
        #expect(await end(session, phone, fixture) == nil)
        #expect(read(session, tablet, fixture.basket) == nil)
    }

    @Test("66: a session whose end cannot be kept is closed to all and has not ended; the end can be repeated")
    func endNotKept() async throws {
        let fixture = try ProductFixture()
        let (session, phone, token) = try await device(fixture)
        let (_, tablet, _) = try await device(fixture)
        fixture.journal.fail(.unavailable)
        #expect(await end(session, phone, fixture, everywhere: true) == .unavailable)
        fixture.journal.fail(nil)
        for client in [phone, tablet] { #expect(read(session, client, fixture.basket) == .unavailable) }
        #expect(await end(session, phone, fixture, everywhere: true) == nil)
        for client in [phone, tablet] { #expect(read(session, client, fixture.basket) == .gone) }
        #expect(try fixture.table.isEnded(token))
    }

    @Test("66: a renewal that comes after the sign-out brings the credential back nowhere")
    func lateRenewal() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        let (session, phone, token) = try await device(fixture)
        let (_, _, other) = try await device(fixture)
        #expect(await end(session, phone, fixture) == nil)
        let renewed = await fixture.table.identify(
            session, token, phone.credential, as: principal(tier: "premium"), proof: Self.proof)
        #expect(throws: StoreError.self) { try renewed.get() }
        #expect(try fixture.table.isEnded(token))
        let second = try ProductFixture(kept: kept, time: fixture.time)
        #expect(try second.table.isEnded(token))
        guard case .live = try second.table.found(other) else { throw NotSignedIn() }
    }

    @Test("66: until a renewal is kept, a client may do only what both principals may")
    func renewalNotKept() async throws {
        let table = try ruled { principal, _, _ in principal?.claim("tier") == "premium" }
        let (session, client, token) = try await premium(table.table)
        #expect(read(session, client, table.basket) == nil)
        table.journal.fail(.unavailable)
        let result = await table.table.identify(session, token, client.credential, as: principal(), proof: Self.proof)
        #expect(result.code == .unavailable)
        #expect(read(session, client, table.basket) == .forbidden)
        table.journal.fail(nil)
        let renewed = await table.table.identify(
            session, token, client.credential, as: principal(tier: "premium"), proof: Self.proof)
        #expect(renewed.code == nil)
        #expect(read(session, client, table.basket) == nil)
    }

    @Test("20: a client that signs in and keeps nothing finds neither stores nor labels of the anonymous one")
    func keepsNothing() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        try fixture.send(#"{"type":"who"}"#, to: fixture.till)
        #expect(fixture.session.labelCount == 1)
        let result = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal(), proof: Self.proof, keepsStores: false)
        guard case .signedIn(_, let credential, _) = try result.get() else { throw NotSignedIn() }
        #expect(fixture.session.storeIDs.isEmpty && fixture.session.labelCount == 0)
        #expect(try fixture.state(Trolley.State.self, fixture.basket, for: credential).items == 0)
    }

    @Test("a credential whose kept principal cannot be read has expired until it is renewed")
    func unreadablePrincipal() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        let (session, phone, token) = try await device(fixture)
        let key = try #require(session.core.withLock { $0.key })
        let damaged = StoredCredential(
            token: try #require(phone.credential).hash, kind: .bearer, number: 1, principal: Array("{}".utf8),
            made: .zero)
        let change = CredentialChange(
            session: key, expecting: principal().identity, subject: principal().identity, kept: [damaged])
        kept.change(change) { _ in }
        let second = try ProductFixture(kept: kept, time: fixture.time)
        guard case .live(let loaded, let credential?) = try second.table.found(token) else { throw NotSignedIn() }
        #expect(read(loaded, SessionClient(credential), second.basket) == .identityExpired)
        let renewed = await second.table.identify(loaded, token, credential, as: principal(), proof: Self.proof)
        #expect(renewed.code == nil)
        #expect(read(loaded, SessionClient(credential), second.basket) == nil)
    }

    @Test("the journal's key and rows do not suffice to compute the credential that a sign-in led to")
    func successor() async throws {
        let kept = MemoryJournal()
        let fixture = try ProductFixture(kept: kept)
        let result = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: principal(), proof: Self.proof)
        guard case .signedIn(let session, _, let token) = try result.get() else { throw NotSignedIn() }
        let secret = Box<Result<JournalSecret, StoreError>>()
        kept.secret { secret.set($0) }
        let seal = SessionSeal(try #require(secret.value).get(), now: fixture.time.source.sinceEpoch())
        // Only the old token's hash is stored; others may know its proof, which is not stored.
        for known in [session.tokenHash.bytes, session.tokenHash.bytes + Self.proof] {
            let code = seal.key.code(for: Array("successor".utf8) + known)
            #expect(SessionToken(random: code) != token)
        }
        #expect(seal.successor(of: fixture.token, proof: Self.proof) == token)
    }

    @Test("66: an intent on a node that has not heard of a sign-in elsewhere does not run")
    func elsewhere() async throws {
        let nodes = try NodePair()
        #expect(try nodes.here.send(#"{"type":"add","amount":1}"#).code == nil)
        #expect(try nodes.sendThere(#"{"type":"add","amount":1}"#).code == nil)
        let result = await nodes.here.table.identify(
            nodes.here.session, nodes.here.token, nil, as: principal(), proof: Self.proof)
        guard case .signedIn(_, let credential, _) = try result.get() else { throw NotSignedIn() }
        #expect(try nodes.sendThere(#"{"type":"add","amount":1000}"#).code == .signedOut)
        let state = try nodes.here.session.stateNow(of: nodes.here.tally, for: credential)
        #expect(String(decoding: state.view, as: UTF8.self).contains(#""count":2"#))
    }

    // MARK: Rules

    private struct Ruled {
        let table: SessionTable
        let journal: HeldJournal
        let basket = FeatureID(name: "basket", key: nil)
        let till = FeatureID(name: "till", key: nil)
    }

    private func ruled(_ till: Till = Till(), _ rule: @escaping AccessRule) throws -> Ruled {
        let journal = HeldJournal()
        let features = try FeatureRegistry([
            FeatureDefinition(Trolley(), rule: rule), FeatureDefinition(till, rule: rule),
        ])
        let table = SessionTable(
            environment: SessionEnvironment(features: features, journal: journal, clock: ManualClock()))
        return Ruled(table: table, journal: journal)
    }

    private func premium(_ table: SessionTable) async throws -> (Session, SessionClient, SessionToken) {
        let made = try await table.create(.bearer, for: principal(tier: "premium"), isShared: true).get()
        guard case .live(_, let credential?) = try table.found(made.0.token) else { throw NotSignedIn() }
        return (made.1, SessionClient(credential), made.0.token)
    }

    @Test("71: a rule tells reads, intents and disposals apart")
    func kinds() async throws {
        let allowed = Collected<String>()
        allowed.append("read")
        let world = try ruled { _, _, access in allowed.all.contains(access.rawValue) }
        let (session, client, _) = try await premium(world.table)
        #expect(read(session, client, world.basket) == nil)
        let sent = Answer()
        let order = IntentRequest(body: Array(#"{"type":"put","items":1}"#.utf8), client: client)
        session.send(order, to: world.basket) { sent.set($0) }
        #expect(sent.value?.code == .forbidden)
        let removed = Box<Result<Bool, StoreError>>()
        session.removeStore(world.basket, for: client) { removed.set($0) }
        #expect(removed.value?.code == .forbidden)
        allowed.append("send")
        let again = Answer()
        session.send(order, to: world.basket) { again.set($0) }
        #expect(again.value?.code == nil)
        #expect(try again.value?.get().state != nil)
    }

    @Test("71: an intent of a client that may not read is answered without the state")
    func sendsBlindly() async throws {
        let world = try ruled { _, _, access in access == .send }
        let (session, client, _) = try await premium(world.table)
        let sent = Answer()
        let order = IntentRequest(body: Array(#"{"type":"put","items":1}"#.utf8), client: client)
        session.send(order, to: world.basket) { sent.set($0) }
        let outcome = try #require(sent.value).get()
        #expect(outcome.isWithheld && outcome.state == nil)
    }

    @Test("66: launched work of a client that signed out takes no step in a store that a rule guards")
    func lateStep() async throws {
        let gate = Gate()
        var till = Till()
        till.failures = Collected<String>()
        till.pause = gate
        let failures = till.failures
        let world = try ruled(till) { _, _, _ in true }
        let (session, phone, _) = try await premium(world.table)
        let (_, tablet, _) = try await premium(world.table)
        let sent = Answer()
        let order = IntentRequest(body: Array(#"{"type":"later"}"#.utf8), client: phone)
        session.send(order, to: world.till) { sent.set($0) }
        #expect(sent.value?.code == nil)
        await gate.waiters()
        await withCheckedContinuation { continuation in
            world.table.end(session, phone, everywhere: false) { _ in continuation.resume() }
        }
        gate.open()
        await failures.atLeast(1)
        let state = try session.stateNow(of: world.till, for: tablet.credential)
        #expect(String(decoding: state.view, as: UTF8.self).contains(#""rings":0"#))
    }
}
