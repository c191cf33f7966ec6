import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Records sign-ins, and may throw at one.
private struct Greeter: Feature {
    struct State: Codable, Equatable, Sendable { var guests: [String] = [] }
    enum Intent: Codable, Sendable { case hello, remindOften }
    enum Action: Codable, Sendable { case ring }
    enum Message: Codable, Sendable { case came(String) }
    struct Broken: Error {}
    static let examples: [Intent] = [.hello, .remindOften]
    static var name: String { "greeter" }
    let initialState = State()
    var throwsAtSignIn = false
    var failures = Collected<String>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .hello: turn.dispatch(.came("hello"))
        case .remindOften: for number in 0..<64 { turn.remind(id: "\(number)", after: .seconds(60), .ring) }
        }
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.came("ring")) }
    func reduce(_ state: inout State, _ message: Message) {
        if case .came(let guest) = message { state.guests.append(guest) }
    }
    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws {
        turn.dispatch(.came(turn.principal?.subject ?? "no principal"))
        if throwsAtSignIn { throw Broken() }
    }
    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { failures.append("\(failure.stage)") }
}

@Suite("A sign-in reaches each store once", .timeLimit(.minutes(10)))
struct SignInTests {
    private let kept = MemoryJournal()
    private let time = ManualTime()
    private let greeter = FeatureID(name: "greeter", key: nil)
    private let reports = Collected<String>()

    private func table(_ feature: Greeter = Greeter(), on journal: (any Journal)? = nil) throws -> SessionTable {
        SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(feature)]), journal: journal ?? kept,
                time: time.source, report: { [reports] in reports.append("\($0)") }))
    }

    private func signIn(_ table: SessionTable, _ session: Session, _ token: SessionToken) async -> Result<
        SignInResult, StoreError
    > {
        await table.identify(
            session, token, nil, as: Principal(issuer: "i", subject: "anna", claims: [:]), proof: ProofHash.of("a"))
    }

    /// Returns the stored state of the session's store; nil if there is none.
    private func keptState(_ session: Session) throws -> String? {
        let found = Box<Result<SessionExport?, StoreError>>()
        kept.export(session.id) { found.set($0) }
        return try #require(found.value).get()?.stores.first.map { String(decoding: $0.state, as: UTF8.self) }
    }

    /// Returns a session whose process ended after the sign-in was committed and before a store got it.
    private func interrupted() async throws -> (session: Session, token: SessionToken) {
        let journal = HeldJournal(kept)
        let first = try table(on: journal)
        let (session, token) = try first.made(.bearer)
        #expect(try session.told(#"{"type":"hello"}"#, to: greeter) == "ran")
        journal.loseAnswers()
        await #expect(throws: StoreError.self) { try await signIn(first, session, token).get() }
        return (session, token)
    }

    @Test func `a store is told even if the process ended after the sign-in was committed`() async throws {
        let (session, _) = try await interrupted()
        let second = try table()
        for _ in 0..<3 { _ = await second.fireDueReminders() }
        #expect(try keptState(session) == #"{"guests":["hello","anna"]}"#)
    }

    @Test func `a sign-in that could not dispose of the stores is refused for now, and not as another subject's`()
        async throws
    {
        let journal = HeldJournal(kept)
        let first = try table(on: journal)
        let (session, token) = try first.made(.bearer)
        #expect(try session.told(#"{"type":"hello"}"#, to: greeter) == "ran")
        journal.hold()
        async let result = first.identify(
            session, token, nil, as: Principal(issuer: "i", subject: "anna", claims: [:]), proof: ProofHash.of("a"),
            keepsStores: false)
        try await journal.untilHeld()
        journal.releaseOne(.failed(StoreError(.contended, "Others were first.")))
        journal.release()
        guard case .failure(let error) = await result else {
            Issue.record("the sign-in was kept")
            return
        }
        #expect(error.code == .contended)
    }

    @Test func `a notice to a store that the next build does not serve ends`() async throws {
        let (session, _) = try await interrupted()
        let second = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Trolley())]), journal: kept, time: time.source))
        for _ in 0..<2 { _ = await second.fireDueReminders() }
        let alarms = Box<Result<[Alarm], StoreError>>()
        kept.alarms(after: nil, limit: 10) { alarms.set($0) }
        #expect(try #require(alarms.value).get().isEmpty)
        #expect(try keptState(session) == #"{"guests":["hello"]}"#)
    }

    @Test func `a repeated sign-in after that is answered when the store was told`() async throws {
        let (session, token) = try await interrupted()
        let second = try table()
        guard case .live(let again, let old?) = try second.found(token) else {
            Issue.record("the session is not there")
            return
        }
        let result = await second.identify(
            again, token, old, as: Principal(issuer: "i", subject: "anna", claims: [:]), proof: ProofHash.of("a"))
        #expect(throws: Never.self) { try result.get() }
        #expect(try keptState(session) == #"{"guests":["hello","anna"]}"#)
        _ = await second.fireDueReminders()
        #expect(try keptState(session) == #"{"guests":["hello","anna"]}"#)
    }

    @Test func `a store that was told is not told again by a check of the reminders`() async throws {
        let first = try table()
        let (session, token) = try first.made(.bearer)
        #expect(try session.told(#"{"type":"hello"}"#, to: greeter) == "ran")
        await #expect(throws: Never.self) { try await signIn(first, session, token).get() }
        for table in [first, try table()] { _ = await table.fireDueReminders() }
        #expect(try keptState(session) == #"{"guests":["hello","anna"]}"#)
    }

    @Test func `an error is reported and passed to onFailure once, and the turn does not run again`() async throws {
        let failures = Collected<String>()
        let first = try table(Greeter(throwsAtSignIn: true, failures: failures))
        let (session, token) = try first.made(.bearer)
        #expect(try session.told(#"{"type":"hello"}"#, to: greeter) == "ran")
        await #expect(throws: Never.self) { try await signIn(first, session, token).get() }
        for _ in 0..<3 {
            time.advance(by: .seconds(60))
            _ = await first.fireDueReminders()
        }
        #expect(failures.all == ["signIn"] && reports.all.count == 1)
        #expect(try keptState(session) == #"{"guests":["hello"]}"#)
    }

    @Test func `the notice to stores is not among a session's 64 reminders`() async throws {
        let journal = HeldJournal(kept)
        let first = try table(on: journal)
        let (session, token) = try first.made(.bearer)
        #expect(try session.told(#"{"type":"remindOften"}"#, to: greeter) == "ran")
        journal.hold()
        let signing = Task { await signIn(first, session, token) }
        try await journal.untilHeld()
        let told = session.send(#"{"type":"remindOften"}"#, to: greeter)
        #expect(session.keptReminders.count == 64)
        journal.release()
        await #expect(throws: Never.self) { try await signing.value.get() }
        // Its token is invalid by now; the turn was not refused for too many reminders.
        #expect(told.told != "failed")
        #expect(session.keptReminders.count == 64)
    }

    @Test func `a store that is disposed before it was told is told nothing, and leaves nothing`() async throws {
        let (session, _) = try await interrupted()
        let second = try table()
        let removed = Box<Result<Bool, StoreError>>()
        let again = try #require(await second.found(session.tokenHash).session)
        again.removeStore(greeter, for: SessionClient(again.credentials.last)) { removed.set($0) }
        #expect(try #require(removed.value).get())
        for _ in 0..<2 { _ = await second.fireDueReminders() }
        let alarms = Box<Result<[Alarm], StoreError>>()
        kept.alarms(after: nil, limit: 10) { alarms.set($0) }
        #expect(try #require(alarms.value).get().isEmpty)
    }

    @Test("a session is found by its credential after the token that it began with is forgotten")
    func rootForgotten() async throws {
        let table = try table()
        let (session, token) = try table.made(.bearer)
        #expect(try session.told(#"{"type":"hello"}"#, to: greeter) == "ran")
        guard case .signedIn(_, let credential, let newToken) = try await signIn(table, session, token).get() else {
            Issue.record("the sign-in gave no credential")
            return
        }
        // The sign-in can no longer be repeated: a renewal forgets the old token.
        time.advance(by: .seconds(120))
        let newer = Principal(issuer: "i", subject: "anna", claims: ["tier": .string("gold")])
        _ = try await table.identify(session, newToken, credential, as: newer, proof: ProofHash.of("b")).get()
        time.advance(by: .seconds(700))
        for _ in 0..<2 { table.sweep(part: 1) }
        #expect(table.count == 0)
        guard case .live(_, let found?) = try table.found(newToken) else {
            Issue.record("the session was not found: \(try table.found(newToken))")
            return
        }
        #expect(found.principal?.claim("tier") == "gold")
    }
}
