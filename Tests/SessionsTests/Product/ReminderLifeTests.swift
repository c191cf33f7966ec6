import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Two releases of one feature: the second one has another name for its action.
private struct OldBell: Feature {
    struct State: Codable, Equatable, Sendable { var rings = 0 }
    enum Intent: Codable, Sendable { case set(after: Int) }
    enum Action: Codable, Sendable { case ding }
    enum Message: Codable, Sendable { case rang }
    static let examples: [Intent] = [.set(after: 1)]
    static var name: String { "bell" }
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .set(let seconds) = intent { turn.remind(id: "bell", after: .seconds(seconds), .ding) }
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.rang) }
    func reduce(_ state: inout State, _ message: Message) { state.rings += 1 }
}

private struct NewBell: Feature {
    struct State: Codable, Equatable, Sendable { var rings = 0 }
    enum Intent: Codable, Sendable { case set(after: Int) }
    enum Action: Codable, Sendable { case dong }
    enum Message: Codable, Sendable { case rang }
    static let examples: [Intent] = [.set(after: 1)]
    static var name: String { "bell" }
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .set(let seconds) = intent { turn.remind(id: "bell", after: .seconds(seconds), .dong) }
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.rang) }
    func reduce(_ state: inout State, _ message: Message) { state.rings += 1 }
}

@Suite("60: the tries of a reminder, and the lifetime of its session", .timeLimit(.minutes(10)))
struct ReminderLifeTests {
    private let kept = MemoryJournal()
    private let time = ManualTime()
    private let bell = FeatureID(name: "bell", key: nil)
    private let reports = Collected<String>()

    private func table(_ definition: FeatureDefinition, journal: (any Journal)? = nil) throws -> SessionTable {
        SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([definition]), journal: journal ?? kept, time: time.source,
                report: { [reports] in reports.append("\($0)") }))
    }

    private func set(after seconds: Int, in session: Session) throws {
        #expect(try session.told(#"{"type":"set","after":\#(seconds)}"#, to: bell) == "ran")
    }

    /// Returns a session with a reminder of the old release that is due in 10 s.
    private func reminded() throws -> SessionToken {
        let (session, token) = try table(FeatureDefinition(OldBell())).made(.bearer)
        try set(after: 10, in: session)
        return token
    }

    @Test func `one with the id of one that this build cannot read fires`() async throws {
        let token = try reminded()
        time.advance(by: .seconds(20))
        let second = try table(FeatureDefinition(NewBell()))
        #expect(await second.fireDueReminders() == nil)
        let session = try second.live(token)
        try set(after: 5, in: session)
        time.advance(by: .seconds(5))
        _ = await second.fireDueReminders()
        #expect(String(decoding: try session.stateNow(of: bell).view, as: UTF8.self) == #"{"rings":1}"#)
        #expect(session.keptReminders.isEmpty)
    }

    @Test func `one that this build cannot read is reported once, and fires in a build that can`() async throws {
        let token = try reminded()
        let second = try table(FeatureDefinition(NewBell()))
        for _ in 0..<10 {
            time.advance(by: .seconds(400))
            _ = await second.fireDueReminders()
            second.sweep(part: 1)
        }
        #expect(reports.all.count == 1)
        let third = try table(FeatureDefinition(OldBell()))
        time.advance(by: .seconds(6 * 3_600))
        _ = await third.fireDueReminders()
        let session = try third.live(token)
        #expect(String(decoding: try session.stateNow(of: bell).view, as: UTF8.self) == #"{"rings":1}"#)
    }

    @Test(arguments: [true, false])
    func `one that this build cannot read keeps its session for 30 days after it was due`(isLookedAt: Bool) async throws
    {
        let token = try reminded()
        var second = try table(FeatureDefinition(NewBell()))
        for day in 1...29 {
            time.advance(by: .seconds(24 * 3600))
            if isLookedAt { _ = await second.fireDueReminders() }
            second.sweep(part: 1)
            // Without a stream it is never in memory for long.
            if !isLookedAt, day % 10 == 0 { second = try table(FeatureDefinition(NewBell())) }
        }
        #expect(try isKept(token))
        for _ in 30...33 {
            time.advance(by: .seconds(24 * 3600))
            if isLookedAt { _ = await second.fireDueReminders() }
            second.sweep(part: 1)
        }
        #expect(try !isKept(token))
        #expect(second.count == 0)
    }

    private func isKept(_ token: SessionToken) throws -> Bool {
        let found = Box<Result<SessionLoad, StoreError>>()
        kept.load(token.hash, now: time.source.sinceEpoch()) { found.set($0) }
        if case .found = try #require(found.value).get() { return true }
        return false
    }

    @Test func `a late one fires after a downtime of weeks`() async throws {
        let token = try reminded()
        time.advance(by: .seconds(29 * 24 * 3600))
        let second = try table(FeatureDefinition(OldBell()))
        second.sweep(part: 1)
        _ = await second.fireDueReminders()
        second.sweep(part: 1)
        // The turn was a use: the session lives for another day.
        time.advance(by: .seconds(23 * 3600))
        second.sweep(part: 1)
        let session = try second.live(token)
        #expect(String(decoding: try session.stateNow(of: bell).view, as: UTF8.self) == #"{"rings":1}"#)
    }

    @Test func `one that is set again after errors has all its tries`() async throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(till: Till(failures: failures))
        for tries in [3, 4] {
            try fixture.send(#"{"type":"fuse","refuses":false}"#, to: fixture.till)
            for _ in 0..<tries {
                fixture.time.advance(by: .seconds(60))
                _ = await fixture.table.fireDueReminders()
            }
        }
        #expect(failures.all.isEmpty && fixture.session.keptReminders.count == 1)
        fixture.time.advance(by: .seconds(60))
        _ = await fixture.table.fireDueReminders()
        #expect(failures.all == ["execute"] && fixture.session.keptReminders.isEmpty)
    }

    @Test func `a catch-up does not change the tries of reminders`() async throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(kept: kept, time: time)
        let second = try ProductFixture(till: Till(failures: failures), kept: kept, time: time)
        try fixture.send(#"{"type":"fuse","refuses":false}"#, to: fixture.till)
        let there = try second.table.live(fixture.token)
        for _ in 0..<5 {
            #expect(failures.all.isEmpty)
            time.advance(by: .seconds(60))
            _ = await second.table.fireDueReminders()
            try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
            there.catchUp()
        }
        #expect(failures.all == ["execute"])
    }

    @Test func `a stuck session does not delay other sessions' reminders`() async throws {
        let (clock, count) = (ManualClock(), 600)
        let journal = HeldJournal(kept)
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(OldBell())]), journal: journal, time: time.source,
                clock: clock))
        let sessions = try (0..<count).map { _ in try table.made(.bearer).0 }
        for session in sessions { try set(after: 5, in: session) }
        time.advance(by: .seconds(10))
        journal.hold()
        let answer = sessions[7].send(#"{"type":"set","after":9}"#, to: bell)
        journal.letPass()
        let isOver = Lock(false)
        async let look: Void = {
            _ = await table.fireDueReminders()
            isOver.withLock { $0 = true }
        }()
        // The check waits for that session until its time limit.
        await clock.sleepers()
        clock.advance(by: .seconds(5))
        // After its time limit the test ends nevertheless.
        while Task.isCancelled, !isOver.withLock({ $0 }) {
            clock.advance(by: .seconds(5))
            await Task.yield()
        }
        await look
        #expect(sessions.count { !$0.keptReminders.isEmpty } == 1)
        #expect(answer.value == nil)
        journal.release()
        #expect(answer.told == "ran")
    }

    @Test func `a sign-in leaves no notice for a store that this build does not serve`() async throws {
        let (made, token) = try table(FeatureDefinition(Trolley())).made(.bearer)
        #expect(try made.told(#"{"type":"put","items":1}"#, to: FeatureID(name: "basket", key: nil)) == "ran")
        let next = try table(FeatureDefinition(OldBell()))
        let session = try next.live(token)
        let anna = Principal(issuer: "i", subject: "anna")
        _ = try await next.identify(session, token, nil, as: anna, proof: ProofHash.of("a")).get()
        #expect(session.keptReminders.isEmpty)
    }

    @Test(arguments: [true, false])
    func `one that cannot fire is not looked at sooner after a restart`(isUnreadable: Bool) async throws {
        let calls = Collected<Int>()
        if isUnreadable {
            _ = try reminded()
        } else {
            let (session, _) = try table(FeatureDefinition(Caller())).made(.bearer)
            #expect(try session.told(#"{"type":"set"}"#, to: FeatureID(name: "caller", key: nil)) == "ran")
        }
        time.advance(by: .seconds(3_600))
        var looks = 0
        for _ in 0..<36 {
            time.advance(by: .seconds(600))
            let next = try table(isUnreadable ? FeatureDefinition(NewBell()) : FeatureDefinition(Caller(calls: calls)))
            _ = await next.fireDueReminders()
            if next.count > 0 { looks += 1 }
        }
        #expect((1...4).contains(looks))
        #expect(reports.all.count == (isUnreadable ? 1 : 0) && calls.all.count == (isUnreadable ? 0 : looks))
    }

    @Test func `one that cannot fire is tried after growing pauses`() async throws {
        let calls = Collected<Int>()
        let table = try table(FeatureDefinition(Caller(calls: calls)))
        let (session, _) = try table.made(.bearer)
        #expect(try session.told(#"{"type":"set"}"#, to: FeatureID(name: "caller", key: nil)) == "ran")
        time.advance(by: .seconds(60))
        for _ in 0..<360 {
            time.advance(by: .seconds(10))
            session.touch()
            _ = await table.fireDueReminders()
        }
        #expect((2...12).contains(calls.all.count))
    }

    @Test func `one that needs a store which is not served keeps its session no longer than others`() async throws {
        let table = try table(FeatureDefinition(Caller()))
        let (session, _) = try table.made(.bearer)
        #expect(try session.told(#"{"type":"set"}"#, to: FeatureID(name: "caller", key: nil)) == "ran")
        for _ in 0..<80 {
            time.advance(by: .seconds(12 * 3_600))
            _ = await table.fireDueReminders()
            table.sweep(part: 1)
        }
        #expect(table.count == 0)
    }
}

/// Its reminder sends to a feature that the server does not have.
private struct Caller: Feature {
    struct State: Codable, Equatable, Sendable { var calls = 0 }
    enum Intent: Codable, Sendable { case set }
    enum Action: Codable, Sendable { case call }
    static let examples: [Intent] = [.set]
    static var name: String { "caller" }
    let initialState = State()
    var calls = Collected<Int>()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.remind(id: "it", after: .seconds(60), .call) }
    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        calls.append(1)
        turn.send(.empty, to: Trolley.self)
    }
    func reduce(_ state: inout State, _ message: Intent) {}
}
