import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

@Suite("Labels that were published while a rule excluded their reader")
struct UnseenLabelTests {
    private let tally = FeatureID(name: "tally", key: nil)
    private let kept = MemoryJournal()
    private let time = ManualTime()

    private struct NotSignedIn: Error {}

    private func principal(_ tier: String, expiry: Timestamp? = nil) -> Principal {
        Principal(issuer: "i", subject: "anna", claims: ["tier": .string(tier)], expiry: expiry)
    }

    /// Creates a process on the journal that a test's processes share.
    private func process(
        _ journal: (any Journal)? = nil, _ rule: AccessRule? = nil
    ) throws -> SessionTable {
        let rule = rule ?? { principal, _, _ in principal?.claim("tier") == "premium" }
        let features = try FeatureRegistry([FeatureDefinition(Tally(), rule: rule)])
        return SessionTable(
            environment: SessionEnvironment(
                features: features, journal: journal ?? kept, time: time.source, clock: ManualClock()))
    }

    private func signIn(_ table: SessionTable, _ tier: String, expiry: Timestamp? = nil) async throws -> SessionToken {
        try await table.create(.bearer, for: principal(tier, expiry: expiry), isShared: false).get().0.token
    }

    private func client(_ table: SessionTable, _ token: SessionToken) throws -> (session: Session, Credential) {
        guard case .live(let session, let credential?) = try table.found(token) else { throw NotSignedIn() }
        return (session, credential)
    }

    private func renew(_ table: SessionTable, _ token: SessionToken, _ tier: String) async throws {
        let (session, credential) = try client(table, token)
        let result = await table.identify(session, token, credential, as: principal(tier), proof: [])
        guard case .renewed = try result.get() else { throw NotSignedIn() }
    }

    /// Publishes a label from outside the features.
    private func publish(_ text: String, _ table: SessionTable, _ token: SessionToken) throws {
        let answer = Answer()
        try client(table, token).session.deliver(
            .intent(Tally.Intent.shout(text: text), of: Tally.self), to: tally, once: nil, makesStore: true
        ) { answer.set($0) }
        #expect(answer.told == "ran")
    }

    private func open(
        _ table: SessionTable, _ token: SessionToken, from start: StreamStart = .earliest
    ) throws -> TestStream {
        let (session, credential) = try client(table, token)
        let opened = Box<Result<SessionStream, StoreError>>()
        session.openStream(.all, from: start, for: SessionClient(credential)) { opened.set($0) }
        return TestStream(try #require(opened.value).get())
    }

    @Test("66: a principal that was read before a renewal does not replace it")
    func staleRead() async throws {
        let journal = HeldJournal(kept)
        let table = try process(journal)
        let token = try await signIn(table, "premium")
        let (session, credential) = try client(table, token)
        try publish("a", table, token)
        journal.holdLoadAnswers()
        session.catchUp()
        try await renew(table, token, "free")
        journal.releaseLoads()
        #expect(credential.principal?.claim("tier") == "free")
        #expect(session.queue.isIdle)
    }

    @Test("70: stay unseen even if no stream was open then; those before and after are shown")
    func withoutStream() async throws {
        let table = try process()
        let token = try await signIn(table, "premium")
        try publish("before", table, token)
        try await renew(table, token, "free")
        try publish("secret", table, token)
        try await renew(table, token, "premium")
        try publish("after", table, token)
        #expect(try open(table, token).read().said == ["before", "after"])
    }

    @Test("70: stay unseen in every later process, through later renewals")
    func restarts() async throws {
        let first = try process()
        let token = try await signIn(first, "premium")
        try publish("1", first, token)
        try await renew(first, token, "free")
        try publish("secret", first, token)
        let second = try process()
        try await renew(second, token, "premium")
        try publish("2", second, token)
        #expect(try open(second, token).read().said == ["1", "2"])
        let third = try process()
        #expect(try open(third, token).read().said == ["1", "2"])
        try await renew(third, token, "free")
        try publish("secret", third, token)
        try await renew(third, token, "premium")
        for table in [third, try process()] { #expect(try open(table, token).read().said == ["1", "2"]) }
    }

    @Test("70: stay unseen by a principal that was excluded from the start")
    func fromTheBeginning() async throws {
        let table = try process()
        let token = try await signIn(table, "free")
        try publish("secret", table, token)
        try await renew(table, token, "premium")
        try publish("after", table, token)
        #expect(try open(table, token).read().said == ["after"])
    }

    @Test("70: are not excluded by the expiry of a principal")
    func expiry() async throws {
        let table = try process()
        let now = Timestamp(sinceEpoch: time.source.sinceEpoch())
        let token = try await signIn(table, "premium", expiry: now + .seconds(60))
        time.advance(by: .seconds(61))
        try publish("late", table, token)
        try await renew(table, token, "premium")
        for table in [table, try process()] { #expect(try open(table, token).read().said == ["late"]) }
    }

    @Test("70: stay unseen when a stream may show the feature again, which shows later ones only")
    func openStream() async throws {
        let table = try process()
        let token = try await signIn(table, "premium")
        try publish("1", table, token)
        let stream = try open(table, token)
        #expect(try stream.read().said == ["1"])
        try await renew(table, token, "free")
        try publish("secret", table, token)
        #expect(try stream.read().names == ["denied"])
        try await renew(table, token, "premium")
        // Before the stream checks its access.
        try publish("2", table, token)
        #expect(try stream.read().said == ["2"])
    }

    @Test("70: a rule on the key excludes from that instance alone")
    func keys() async throws {
        let definition = try FeatureDefinition(
            rule: { principal, key, _ in principal != nil && (key == "a" || principal?.claim("tier") == "premium") },
            keyed: { _, _ in Probe() })
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([definition]), journal: kept, time: time.source, clock: ManualClock()))
        let token = try await signIn(table, "free")
        for key in ["a", "b"] {
            let answer = Answer()
            try client(table, token).session.deliver(
                .intent(Probe.Intent.say(text: key), of: Probe.self), to: FeatureID(name: "probe", key: key), once: nil,
                makesStore: true
            ) { answer.set($0) }
            #expect(answer.told == "ran")
        }
        try await renew(table, token, "premium")
        #expect(try open(table, token).read().said == ["a"])
    }

    @Test("70: if a rule depends on more than the principal, stay unseen from the recheck on")
    func recheck() async throws {
        let members = Lock(true)
        let table = try process(nil) { _, _, _ in members.withLock { $0 } }
        let token = try await signIn(table, "free")
        try publish("1", table, token)
        members.withLock { $0 = false }
        table.recheck(principal("free").identity)
        try publish("secret", table, token)
        members.withLock { $0 = true }
        table.recheck(principal("free").identity)
        try publish("2", table, token)
        #expect(try open(table, token).read().said == ["1", "2"])
    }

    @Test("70: those of the time in which a renewal is being kept are seen only by who may see them before and after")
    func whileKept() async throws {
        let journal = HeldJournal(kept)
        let table = try process(journal)
        let token = try await signIn(table, "free")
        try publish("1", table, token)
        journal.holdChanges()
        async let renewal: Void = renew(table, token, "premium")
        try await journal.untilChangeHeld()
        try publish("secret", table, token)
        journal.releaseChanges()
        try await renewal
        try publish("2", table, token)
        for table in [table, try process()] { #expect(try open(table, token).read().said == ["2"]) }
    }

    @Test(
        "70: those of a turn that is being appended when a renewal takes effect are seen only by who may see them before"
    )
    func whileAppended() async throws {
        let journal = HeldJournal(kept)
        let table = try process(journal)
        let token = try await signIn(table, "free")
        journal.hold()
        let answer = Answer()
        try client(table, token).session.deliver(
            .intent(Tally.Intent.shout(text: "secret"), of: Tally.self), to: tally, once: nil, makesStore: true
        ) { answer.set($0) }
        try await renew(table, token, "premium")
        journal.release()
        #expect(answer.told == "ran")
        try publish("after", table, token)
        for table in [table, try process()] { #expect(try open(table, token).read().said == ["after"]) }
    }

    @Test("66: a renewal is answered when it holds for the session that replaced its own in memory")
    func replaced() async throws {
        let journal = HeldJournal(kept)
        let table = try process(journal)
        let token = try await signIn(table, "premium")
        try publish("1", table, token)
        let (old, _) = try client(table, token)
        journal.holdChanges()
        let isAnswered = Lock(false)
        async let renewal: Void = {
            try await renew(table, token, "free")
            isAnswered.withLock { $0 = true }
        }()
        try await journal.untilChangeHeld()
        old.leave()
        let (new, credential) = try client(table, token)
        #expect(new !== old)
        journal.holdLoadAnswers()
        journal.releaseChanges()
        while journal.waitingLoads == 0 { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        #expect(!isAnswered.withLock { $0 })
        journal.releaseLoads()
        try await renewal
        #expect(new.refusal(of: SessionClient(credential), tally) != nil)
    }

    @Test("two renewals of one credential are applied in the order in which they are kept")
    func order() async throws {
        let journal = HeldJournal(kept)
        let table = try process(journal)
        let token = try await signIn(table, "premium")
        try publish("1", table, token)
        journal.holdChanges()
        async let first: Void = renew(table, token, "free")
        try await journal.untilChangeHeld()
        async let second: Void = renew(table, token, "premium")
        // The second is not committed before the first, which excludes the client meanwhile.
        for _ in 0..<100 { await Task.yield() }
        #expect(journal.waitingChanges == 1)
        #expect(try client(table, token).session.refusal(of: SessionClient(client(table, token).1), tally) != nil)
        journal.releaseChanges()
        _ = try await (first, second)
        let (session, credential) = try client(table, token)
        #expect(credential.principal?.claim("tier") == "premium")
        #expect(session.refusal(of: SessionClient(credential), tally) == nil)
        #expect(try client(try process(), token).1.principal?.claim("tier") == "premium")
    }

    @Test("the stored earlier principals are limited, and an older server reads the present one")
    func bounded() async throws {
        let table = try process()
        let token = try await signIn(table, "premium")
        for round in 0..<40 {
            try publish("seen \(round)", table, token)
            try await renew(table, token, "free")
            try publish("secret", table, token)
            try await renew(table, token, "premium")
        }
        for table in [table, try process()] {
            let said = try open(table, token).read().said
            #expect(said.last == "seen 39")
            #expect(said.allSatisfy { $0.hasPrefix("seen") })
        }
        let stored = try kept(token)
        #expect(stored.principal.count < 2_000)
        // Unknown members are ignored.
        #expect(try WireJSON.decode(Principal.self, from: stored.principal) == principal("premium"))
        // Nothing remains after the labels have expired.
        time.advance(by: .seconds(301))
        table.sweep(part: 1)
        try await renew(table, token, "free")
        #expect(try kept(token).principal == WireJSON.encode(principal("free")))
    }

    private func kept(_ token: SessionToken) throws -> StoredCredential {
        let load = Box<Result<SessionLoad, StoreError>>()
        kept.load(token.hash, now: .zero) { load.set($0) }
        guard case .found(let stored) = try #require(load.value).get(),
            let credential = stored.credentials.first(where: { $0.token == token.hash })
        else { throw NotSignedIn() }
        return credential
    }
}
