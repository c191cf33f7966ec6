import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// A sheet that may be open. Saving it takes a while.
private struct SheetFeature: Feature {
    struct Sheet: Part {
        var text: String
        var isSaved = false
        enum Message: Sendable { case saved }
        mutating func reduce(_ message: Message) { isSaved = true }
    }
    struct State: Codable, Equatable, Sendable { var sheet: Sheet? }
    enum Intent: Codable, Sendable { case open(text: String), save, replace(text: String), wait, stop }
    enum Message: Sendable { case opened(String), closed, sheet(Sheet.Message) }
    static let examples: [Intent] = [.open(text: "a"), .save, .replace(text: "a"), .wait, .stop]
    static var name: String { "desk" }
    let initialState = State()
    let saving: Gate
    let ended: Gate

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .open(let text): turn.dispatch(.opened(text))
        case .save:
            turn.part(\.sheet, Message.sheet) { [saving, ended] sheet in
                sheet.launch(id: "save") { work in
                    defer { ended.open() }
                    try await saving.wait()
                    await work.dispatch(.saved)
                }
            }
        case .replace(let text):
            turn.dispatch(.closed)
            turn.dispatch(.opened(text))
        case .wait:
            turn.launch(id: "wait") { [saving, ended] work in
                let inner = Task {
                    saving.open()
                    return try await work.state(where: { $0.sheet?.text == "never" })
                }
                _ = try? await inner.value
                ended.open()
            }
        case .stop: turn.cancel("wait")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .opened(let text): state.sheet = Sheet(text: text)
        case .closed: state.sheet = nil
        case .sheet(let message): state.sheet?.reduce(message)
        }
    }
}

/// A feature whose state another build of it cannot read.
private struct Strongbox<Content: Codable & Equatable & Sendable>: Feature {
    struct State: Codable, Equatable, Sendable { var content: Content }
    enum Intent: Codable, Sendable { case pack }
    static var examples: [Intent] { [.pack] }
    static var name: String { "strongbox" }
    let content: Content
    var initialState: State { State(content: content) }
    func reduce(_ state: inout State, _ intent: Intent) {}
}

@Suite("Faults of what had several owners")
struct FaultOwnerTests {
    private let desk = FeatureID(name: "desk", key: nil)

    private func desk(_ saving: Gate, _ ended: Gate) throws -> Session {
        try SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(SheetFeature(saving: saving, ended: ended))]),
                journal: MemoryJournal(), time: ManualTime().source, clock: ManualClock())
        ).made(.bearer).session
    }

    @Test("76: a part that leaves and comes back in one turn begins without the work of the former")
    func replacedPart() async throws {
        let (saving, ended) = (Gate(), Gate())
        let session = try desk(saving, ended)
        #expect(try session.told(#"{"type":"open","text":"first"}"#, to: desk) == "ran")
        #expect(try session.told(#"{"type":"save"}"#, to: desk) == "ran")
        await saving.waiters()
        #expect(try session.told(#"{"type":"replace","text":"second"}"#, to: desk) == "ran")
        saving.open()
        try await ended.wait()
        // Behind the step, if there is one.
        #expect(try session.told(#"{"type":"stop"}"#, to: desk) == "ran")
        #expect(try session.text(shownOf: desk).contains(#""text":"second""#))
        #expect(try !session.text(shownOf: desk).contains(#""isSaved":true"#))
    }

    @Test("36: a wait for a state ends with its work, also in a task of its own")
    func waitOfTask() async throws {
        let (begun, ended) = (Gate(), Gate())
        let session = try desk(begun, ended)
        #expect(try session.told(#"{"type":"wait"}"#, to: desk) == "ran")
        try await begun.wait()
        let store = try #require(session.core.withLock { $0.stores[desk]?.store })
        while store.runner.waiterCount == 0 { await Task.yield() }
        #expect(try session.told(#"{"type":"stop"}"#, to: desk) == "ran")
        try await ended.wait()
        #expect(store.runner.waiterCount == 0)
    }

    @Test("a store whose state a stream has yet to show stays in memory")
    func owedState() throws {
        let fixture = try Fixture { $0.loadedStores = 1 }
        let keyed = try #require(FeatureID("keyed:a"))
        try fixture.send(#"{"type":"rename","to":"x"}"#, to: keyed)
        try fixture.send(#"{"type":"add","amount":1}"#)
        let stream = try fixture.stream(from: .now)
        _ = try stream.read()
        try fixture.send(#"{"type":"rename","to":"newest"}"#, to: keyed)
        fixture.time.advance(by: .seconds(1))
        fixture.session.touch()
        try fixture.send(#"{"type":"shout","text":"hello"}"#)
        fixture.table.sweep(part: 1)
        let events = try stream.read()
        #expect(try events.contains { try $0.json.feature == "keyed:a" })
        #expect(try events.said == ["hello"])
    }

    @Test("55: a number whose predecessor's check is about to begin waits for it")
    func numberBehindCheck() async throws {
        let held = Gate()
        let fixture = try ProductFixture(
            till: Till(prices: { _ in
                try await held.wait()
                return 3
            }))
        try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket)
        fixture.journal.hold()
        let slow = fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket)
        let first = fixture.post(#"{"type":"buy","item":"a"}"#, to: fixture.till, name: .sequence(1, epoch: "e"))
        let second = fixture.post(#"{"type":"hush"}"#, to: fixture.till, name: .sequence(2, epoch: "e"))
        fixture.journal.release()
        _ = try await slow.wait()
        await held.waiters()
        #expect(second.value == nil)
        held.open()
        #expect(try await first.wait().told == "ran")
        #expect(try await second.wait().told == "ran")
    }

    @Test("a number waits no longer than the check that could not begin")
    func numberBehindRefusedCheck() async throws {
        let fixture = try ProductFixture { $0.runningChecks = 0 }
        try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket)
        fixture.journal.hold()
        let slow = fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket)
        let first = fixture.post(#"{"type":"buy","item":"a"}"#, to: fixture.till, name: .sequence(1, epoch: "e"))
        let second = fixture.post(#"{"type":"hush"}"#, to: fixture.till, name: .sequence(2, epoch: "e"))
        fixture.journal.release()
        _ = try await slow.wait()
        #expect(try await first.wait().told == "busy")
        #expect(try await second.wait().told != "ran")
        #expect(try fixture.send(#"{"type":"stamp"}"#, to: fixture.till).code == nil)
    }

    @Test("an intent that is repeated while its lost branch is read fails no other of its batch")
    func repeatedOverLoss() async throws {
        let nodes = try NodePair()
        nodes.cluster.lose(true)
        try nodes.here.send(#"{"type":"add","amount":1}"#)
        let key = try #require(nodes.here.session.core.withLock { $0.key })
        let snapshot = try #require(nodes.kept.snapshot(of: key))
        try nodes.here.send(#"{"type":"add","amount":10}"#)
        nodes.kept.goBack(key, to: snapshot, epoch: "another")
        nodes.hereJournal.holdLoads()
        nodes.here.session.catchUp()
        let body = #"{"type":"add","amount":100}"#
        let first = nodes.here.session.send(body, to: nodes.here.tally, name: .key("k"))
        let other = nodes.here.session.send(#"{"type":"write","note":"other"}"#, to: nodes.here.tally)
        try #require(nodes.hereJournal.tellLoad(), "the session was to be read")
        let second = nodes.here.session.send(body, to: nodes.here.tally, name: .key("k"))
        while nodes.hereJournal.tellLoad() {}
        #expect(try await first.wait().told == "ran")
        #expect(try await other.wait().told == "ran")
        _ = try await second.wait()
    }

    @Test("66: a sign-in that certainly failed lets its anonymous client go on")
    func failedSignIn() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":2}"#, to: fixture.basket)
        fixture.journal.fail(.full)
        let anna = Principal(issuer: "i", subject: "anna")
        let result = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: anna, proof: ProofHash.of("a"))
        fixture.journal.fail(nil)
        #expect(throws: StoreError.self) { try result.get() }
        #expect(try fixture.items == 2)
    }

    @Test("20: a sign-in that could not dispose of the stores leaves the labels, too")
    func keptLabels() async throws {
        let journal = HeldJournal()
        let fixture = try Fixture(journal: journal)
        try fixture.send(#"{"type":"shout","text":"kept"}"#)
        journal.fail(.full)
        let anna = Principal(issuer: "i", subject: "anna")
        let result = await fixture.table.identify(
            fixture.session, fixture.token, nil, as: anna, proof: ProofHash.of("a"), keepsStores: false)
        journal.fail(nil)
        #expect(throws: StoreError.self) { try result.get() }
        try fixture.send(#"{"type":"add","amount":1}"#)
        #expect(try fixture.stream("tally").read().said == ["kept"])
    }

    @Test("a store that replaces an unreadable state while a stream shows it is watched once")
    func watchedOnce() throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        func table<F: Feature>(_ feature: F) throws -> SessionTable {
            var limits = SessionLimits.patient
            limits.loadedStores = 1
            return SessionTable(
                environment: SessionEnvironment(
                    features: try FeatureRegistry([FeatureDefinition(feature), FeatureDefinition(Trolley())]),
                    limits: limits, journal: kept, time: time.source, clock: ManualClock()))
        }
        let vault = FeatureID(name: "strongbox", key: nil)
        let (session, token) = try table(Strongbox(content: 1)).made(.bearer)
        #expect(try session.told(#"{"type":"pack"}"#, to: vault) == "ran")
        let again = try table(Strongbox(content: "a")).live(token)
        time.advance(by: .seconds(10))
        again.touch()
        #expect(try again.told(#"{"type":"put","items":1}"#, to: FeatureID(name: "basket", key: nil)) == "ran")
        let stream = try again.opened(.all, from: .now)
        _ = try stream.read()
        _ = try again.told(#"{"type":"pack"}"#, to: vault)
        let store = try #require(again.core.withLock { $0.stores[vault]?.store })
        stream.stream.closed()
        #expect(!store.isWatched)
    }

    @Test("a step without a change is run again if an answer beside it cannot be confirmed")
    func unconfirmedStep() async throws {
        let nodes = try NodePair()
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
        let session = nodes.here.session
        nodes.hereJournal.holdMarks(of: session.core.withLock { $0.key })
        // Refused, which has to be confirmed; meanwhile the others come into one batch.
        let first = session.send(#"{"type":"add","amount":5000}"#, to: nodes.here.tally)
        let step = Box<Result<Bool, StoreError>>()
        session.enqueue(.steps, done: { step.set($0) }) { _ in false }
        let second = session.send(#"{"type":"add","amount":5001}"#, to: nodes.here.tally)
        nodes.hereJournal.cutOff(true)
        nodes.hereJournal.holdMarks(of: nil)
        #expect(try await second.wait().told != "ran")
        _ = try await first.wait()
        #expect(step.value == nil)
    }
}
