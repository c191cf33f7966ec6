import Locking
import MVI
import MVITesting
import Networks
import SessionJournal
import Sessions
import Testing
import WireJSON

/// A feature whose messages contain an error, and so cannot be encoded.
private struct Loader: Feature {
    struct State: Codable, Equatable, Sendable { var text = "" }
    enum Intent: Codable, Sendable { case load }
    enum Message: Sendable { case failed(any Error) }
    static let examples: [Intent] = [.load]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.failed(StoreError(.full, "no room")))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .failed(let error): state.text = "\(error)"
        }
    }
}

/// A feature whose turns have inputs and requests of every kind.
private struct Recorder: Feature {
    struct State: Codable, Equatable, Sendable { var texts: [String] = [] }
    struct ViewState: Codable, Equatable, Sendable { let count: Int }
    enum Intent: Codable, Sendable { case go, fail, refuse, later }
    enum Message: Codable, Sendable { case noted(String) }
    enum Action: Codable, Sendable { case remember }
    static let examples: [Intent] = [.go, .fail, .refuse, .later]
    static let schemaVersion = 3
    static let migrations: [Migration<State>] = []
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .go:
            let count = try turn.view(of: Tally.self).count
            turn.dispatch(.noted("\(count) \(turn.uuid()) \(turn.now)"))
            turn.send(.add(amount: 3), to: Tally.self)
            turn.launch(id: "work") { _ in }
        case .fail: throw Tally.Broken()
        case .refuse:
            turn.dispatch(.noted("not kept"))
            throw Refusal(.conflict, code: "late", "It is \(turn.now).")
        case .later: turn.remind(id: "soon", after: .seconds(5), .remember)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.noted("remembered")) }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.noted("failed")) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .noted(let text): state.texts.append(text)
        }
    }

    func view(_ state: State) -> ViewState { ViewState(count: state.texts.count) }
}

/// A feature whose turns depend on their client.
private struct Traveler: Feature {
    struct State: Codable, Equatable, Sendable { var places: [String] = [] }
    enum Intent: Codable, Sendable { case arrive }
    enum Message: Codable, Sendable { case arrived(String) }
    static let examples: [Intent] = [.arrive]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        let client = turn.client
        turn.dispatch(
            .arrived("\(client.locale ?? "-") \(client.timeZone ?? "-") \(client.address != nil)"))
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .arrived(let place) = message { state.places.append(place) }
    }
}

@Suite("54: recording")
struct RecordingTests {
    let journal = MemoryJournal()
    let reports = Lock<[String]>([])

    /// Returns a table of the loader and the tally with a limit of recorded turns per session.
    private func table(recordedTurns: Int) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: recordedTurns)
        limits.recordingDelay = .zero
        return try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([FeatureDefinition(Loader()), FeatureDefinition(Tally())]), limits: limits,
                journal: journal, time: ManualTime().source, clock: ManualClock(),
                report: { [reports] report in
                    if case .unrecordable(let feature) = report { reports.withLock { $0.append(feature) } }
                }))
    }

    @Test("messages that cannot be encoded are reduced; the recording marks them missing, and that is reported once")
    func notCodable() throws {
        let table = try table(recordedTurns: 10)
        #expect(reports.withLock { $0 } == ["loader"])
        let (session, _) = try table.made(.bearer)
        let loader = try #require(FeatureID("loader"))
        for key in ["a", "b"] {
            let answer = Box<IntentResult>()
            session.send(IntentRequest(body: Array(#"{"type":"load"}"#.utf8), name: .key(key)), to: loader) {
                answer.set($0)
            }
            _ = try #require(answer.value).get()
        }
        #expect(String(decoding: try session.stateNow(of: loader).view, as: UTF8.self) == #"{"text":"no room"}"#)
        let exported = Box<SessionExport?>()
        journal.export(session.id) { exported.set(try? $0.get()) }
        let recordings = try #require(exported.value ?? nil).turns.map { String(decoding: $0.recording, as: UTF8.self) }
        #expect(
            recordings.suffix(2)
                == ["a", "b"].map {
                    #"{"intent":"\#($0)","fault":"the feature's messages or actions are not Codable"}"#
                })
        #expect(reports.withLock { $0 } == ["loader"])
    }

    @Test("a recording has what the turn read, used, sent and launched, its view state and its failure")
    func facts() throws {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        limits.recordingDelay = .zero
        let table = try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([FeatureDefinition(Recorder()), FeatureDefinition(Tally())]), limits: limits,
                journal: journal, time: ManualTime().source, clock: ManualClock()))
        let (session, _) = try table.made(.bearer)
        let recorder = try #require(FeatureID("recorder"))
        for (name, key) in [("go", "a"), ("go", "b"), ("fail", "c"), ("refuse", "d")] {
            let answer = Box<IntentResult>()
            session.send(IntentRequest(body: Array(#"{"type":"\#(name)"}"#.utf8), name: .key(key)), to: recorder) {
                answer.set($0)
            }
            _ = try #require(answer.value)
        }
        let exported = Box<SessionExport?>()
        journal.export(session.id) { exported.set(try? $0.get()) }
        let export = try #require(exported.value ?? nil)
        let turns = try export.turns.filter { $0.feature == recorder }.map {
            try WireJSON.decode(TurnRecording<Recorder>.self, from: $0.recording)
        }
        let second = try #require(turns.first { $0.intent == "b" })
        #expect(second.facts.kind == .intent && second.facts.schemaVersion == 3)
        #expect(second.facts.microseconds != nil && second.facts.now != nil)
        #expect(second.facts.uuids.count == 1 && second.messages.count == 1)
        #expect(second.facts.reads.map(\.feature) == ["tally"])
        let tally = try #require(export.stores.first { $0.summary.feature.text == "tally" })
        // The first turn's intent to the tally was the turn before.
        #expect(second.facts.reads[0].number > 0 && second.facts.reads[0].number < tally.summary.number)
        #expect(second.facts.sends == ["tally"] && second.facts.launched == ["work"])
        #expect(second.view == Recorder.ViewState(count: 2))
        let failed = turns[turns.count - 2]
        #expect(failed.facts.kind == .failure && turns.first?.facts.kind == .bootstrap)
        #expect(failed.facts.failure == "execute: Broken()")
        let refused = try #require(turns.last)
        #expect(refused.facts.kind == .intent && refused.facts.refusal?.hasPrefix("late: It is ") == true)
        #expect(refused.facts.now != nil && refused.messages.isEmpty && refused.state == failed.state)
    }

    @Test("a turn has its client's locale and time zone as inputs, and not the address")
    func client() throws {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        limits.recordingDelay = .zero
        let features = try FeatureRegistry([FeatureDefinition(Traveler())])
        let table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal, time: ManualTime().source, clock: ManualClock()))
        let (session, _) = try table.made(.bearer)
        session.apply(ClientSettings(locale: "de-DE", timeZone: "Europe/Berlin"), to: nil)
        let feature = try #require(FeatureID("traveler"))
        let (body, canary) = (Array(#"{"type":"arrive"}"#.utf8), "203.0.113.77")
        session.send(
            IntentRequest(body: body, client: SessionClient(address: PeerAddress(canary))), to: feature
        ) { _ in }
        #expect(try session.stateNow(of: feature).view == Array(#"{"places":["de-DE Europe/Berlin true"]}"#.utf8))
        let exported = Box<SessionExport?>()
        journal.export(session.id) { exported.set(try? $0.get()) }
        let export = try #require(exported.value ?? nil)
        for export in [export, export.redacted(by: features).export] {
            let text = String(decoding: try #require(export.turns.last).recording, as: UTF8.self)
            #expect(text.contains(#""locale":"de-DE","timeZone":"Europe/Berlin""#) && !text.contains(canary), "\(text)")
        }
    }

    @Test("the turn of a reminder names the turn that set it")
    func reminded() throws {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        limits.recordingDelay = .zero
        let time = ManualTime()
        let table = try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([FeatureDefinition(Recorder()), FeatureDefinition(Tally())]), limits: limits,
                journal: journal, time: time.source, clock: ManualClock()))
        let (session, _) = try table.made(.bearer)
        let recorder = try #require(FeatureID("recorder"))
        let answer = Box<IntentResult>()
        session.send(IntentRequest(body: Array(#"{"type":"later"}"#.utf8), name: .key("a")), to: recorder) {
            answer.set($0)
        }
        _ = try #require(answer.value).get()
        time.advance(by: .seconds(6))
        let fired = Box<Bool>()
        session.fireReminders { fired.set(true) }
        #expect(fired.value == true)
        let exported = Box<SessionExport?>()
        journal.export(session.id) { exported.set(try? $0.get()) }
        let turns = try #require(exported.value ?? nil).turns
        let last = try WireJSON.decode(TurnRecording<Recorder>.self, from: try #require(turns.last).recording)
        let setting = try #require(
            turns.first { (try? WireJSON.decode(TurnRecording<Recorder>.self, from: $0.recording))?.intent == "a" })
        #expect(last.facts.kind == .action && last.state.texts == ["remembered"])
        #expect(last.facts.by == setting.number)
    }

    @Test("without recording nothing has to be encoded, and nothing is reported")
    func off() throws {
        _ = try table(recordedTurns: 0)
        #expect(reports.withLock { $0 }.isEmpty)
    }
}
