import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing
import WireJSON

/// A feature with the abilities that sessions need: states, labels of two lifetimes, launched work, refusals, an error.
struct Tally: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var note = ""
        var isWatched = false
    }
    enum Intent: Codable, Sendable {
        case add(amount: Int)
        case shout(text: String)
        case whisper(text: String)
        case shoutMany(texts: [String])
        case write(note: String)
        case load
        case fail
        case nothing
        case ratio
        case watch
    }
    enum Message: Codable, Sendable { case added(Int), noted(String), watched(Bool) }
    enum Label: Codable, Equatable, Sendable { case said(text: String), whispered(text: String), ratio(Double) }
    struct Broken: Error {}

    static let examples: [Intent] = [
        .add(amount: 1), .shout(text: "a"), .whisper(text: "a"), .shoutMany(texts: ["a"]), .write(note: "a"), .load,
        .fail, .nothing, .ratio, .watch,
    ]
    static let labelExamples: [Label] = [.said(text: "a"), .whispered(text: "a"), .ratio(0.5)]
    static var name: String { "tally" }
    static var summary: String { "Counts." }

    let initialState = State()
    var gate = Gate()
    var middleware: Middleware<Tally> {
        .intercepting { intent, _ in
            if case .add(let amount) = intent, amount > 1_000 { throw Refusal(.invalid, "Too much at once.") }
            return intent
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let amount): turn.dispatch(.added(amount))
        case .shout(let text): turn.publish(.said(text: text))
        case .whisper(let text): turn.publish(.whispered(text: text))
        case .shoutMany(let texts):
            turn.dispatch(.added(texts.count))
            for text in texts { turn.publish(.said(text: text)) }
        case .write(let note): turn.dispatch(.noted(note))
        case .load:
            turn.launch { [gate] work in
                try await gate.wait()
                await work.dispatch(.added(100))
            }
        case .fail:
            turn.dispatch(.added(1))
            throw Broken()
        case .nothing: break
        case .ratio: turn.publish(.ratio(.infinity))
        case .watch:
            turn.whileWatched(id: "watch", grace: .seconds(5)) { work in
                await work.dispatch(.watched(true))
                do { try await work.sleep(for: .seconds(1_000_000)) } catch {}
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let amount): state.count += amount
        case .noted(let note): state.note = note
        case .watched(let isWatched): state.isWatched = isWatched
        }
    }

    func timeToLive(of label: Label) -> Duration {
        if case .whispered = label { .seconds(10) } else { .seconds(300) }
    }
}

extension SessionLimits {
    /// The defaults, but with longer times for slow machines.
    static var patient: SessionLimits {
        var limits = SessionLimits()
        limits.runnerTime = .seconds(600)
        return limits
    }
}

/// A time that a test sets.
final class ManualTime: Sendable {
    private let now = Lock(Duration.seconds(1_000))
    private let wall = Lock(Duration.seconds(1_700_000_000))

    func advance(by duration: Duration) { now.withLock { $0 += duration } }

    /// Sets the wall clock.
    func step(by duration: Duration) { wall.withLock { $0 += duration } }

    var source: TimeSource {
        TimeSource(
            monotonic: { [self] in now.withLock { $0 } },
            sinceEpoch: { [self] in wall.withLock { $0 } + now.withLock { $0 } })
    }
}

/// A server's sessions, and one of them.
struct Fixture {
    let table: SessionTable
    let session: Session
    let token: SessionToken
    let time: ManualTime
    let clock: ManualClock
    let tally: FeatureID

    init(
        journal: any Journal = MemoryJournal(), gate: Gate = Gate(),
        _ change: (inout SessionLimits) -> Void = { _ in }
    ) throws {
        var limits = SessionLimits.patient
        change(&limits)
        time = ManualTime()
        clock = ManualClock()
        let features = try FeatureRegistry([
            FeatureDefinition(Tally(gate: gate)),
            FeatureDefinition(keyed: { key, _ in key == "none" ? nil : Keyed(key: key) }),
        ])
        let environment = SessionEnvironment(
            features: features, limits: limits, journal: journal, time: time.source, clock: clock)
        table = SessionTable(environment: environment)
        (session, token) = try table.made(.bearer)
        tally = try #require(FeatureID("tally"))
    }

    /// Sends an intent whose answer comes at once.
    @discardableResult
    func send(
        _ body: String, key: String? = nil, name: IntentRequest.Name? = nil,
        ifMatch: (@Sendable (ClosedRange<UInt64>) -> Bool)? = nil, to feature: FeatureID? = nil
    ) throws -> Result<IntentOutcome, StoreError> {
        let answer = Answer()
        session.send(
            IntentRequest(body: Array(body.utf8), name: name ?? key.map { .key($0) }, ifMatch: ifMatch),
            to: feature ?? tally
        ) { answer.set($0) }
        return try #require(answer.value, "the answer was to come at once")
    }

    func stream(
        _ features: String..., from start: StreamStart = .unspecified, delta: DeltaForm? = nil
    ) throws -> TestStream {
        let filter: StreamFilter =
            features.isEmpty ? .all : .features(try features.map { try #require(FeatureID($0)) })
        return try session.opened(filter, from: start, delta: delta)
    }
}

/// Results that come at once from a journal in memory.
extension SessionTable {
    func made(
        _ credential: SessionCredential, _ settings: ClientSettings? = nil
    ) throws -> (session: Session, token: SessionToken) {
        let token = try new(credential, settings).token
        return (try live(token), token)
    }

    func new(_ credential: SessionCredential, _ settings: ClientSettings? = nil) throws -> NewSession {
        let made = Box<Result<NewSession, StoreError>>()
        create(credential, settings: settings) { made.set($0) }
        return try #require(made.value, "the token was to come at once").get()
    }

    func found(_ token: SessionToken) throws -> SessionLookup {
        let found = Box<SessionLookup>()
        find(token) { found.set($0) }
        return try #require(found.value, "the session was to come at once")
    }

    /// Returns true if the table remembers that the token's session has ended.
    func isEnded(_ token: SessionToken) throws -> Bool { if case .ended = try found(token) { true } else { false } }

    func live(_ token: SessionToken) throws -> Session {
        guard case .live(let session, _) = try found(token) else { throw NotLive() }
        return session
    }

    func ended(_ session: Session) throws {
        let ended = Box<Result<Void, StoreError>>()
        end(session) { ended.set($0) }
        try #require(ended.value, "the session was to end at once").get()
    }

    struct NotLive: Error {}
}

extension Session {
    func stateNow(of feature: FeatureID, for credential: Credential? = nil) throws -> StateSnapshot {
        let state = Box<Result<StateSnapshot, StoreError>>()
        self.state(of: feature, for: SessionClient(credential)) { state.set($0) }
        return try #require(state.value, "the state was to come at once").get()
    }

    func opened(_ filter: StreamFilter, from start: StreamStart, delta: DeltaForm? = nil) throws -> TestStream {
        let stream = Box<Result<SessionStream, StoreError>>()
        openStream(filter, from: start, delta: delta) { stream.set($0) }
        return TestStream(try #require(stream.value, "the stream was to come at once").get())
    }

    func removed(_ feature: FeatureID) throws -> Bool {
        let removed = Box<Result<Bool, StoreError>>()
        removeStore(feature) { removed.set($0) }
        return try #require(removed.value, "the store was to go at once").get()
    }
}

/// A value that a callback sets.
final class Box<Value: Sendable>: Sendable {
    private let box = Lock<Value?>(nil)

    func set(_ value: Value) { box.withLock { $0 = value } }

    var value: Value? { box.withLock { $0 } }
}

struct Keyed: Feature {
    struct State: Codable, Equatable, Sendable { var key: String }
    enum Intent: Codable, Sendable { case rename(to: String) }
    static let examples: [Intent] = [.rename(to: "a")]
    static var name: String { "keyed" }
    let key: String
    var initialState: State { State(key: key) }
    func reduce(_ state: inout State, _ intent: Intent) {
        if case .rename(let key) = intent { state.key = key }
    }
}

/// An answer that may come from another thread.
final class Answer: Sendable {
    private let box = Lock<Result<IntentOutcome, StoreError>?>(nil)
    private let arrived = Gate()

    func set(_ value: Result<IntentOutcome, StoreError>) {
        box.withLock { $0 = value }
        arrived.open()
    }

    var value: Result<IntentOutcome, StoreError>? { box.withLock { $0 } }

    func wait() async throws -> Result<IntentOutcome, StoreError> {
        try await arrived.wait()
        return try #require(value)
    }
}

/// A client of a stream that reads when the test says so.
final class TestStream: StreamWaker {
    let stream: SessionStream
    private let parser = Lock(EventParser())
    private let wakes = Lock(0)

    init(_ stream: SessionStream) {
        self.stream = stream
        stream.opened(self)
    }

    func wake() { wakes.withLock { $0 += 1 } }

    var wakeCount: Int { wakes.withLock { $0 } }

    /// Reads one batch; nil if there is none.
    func readBatch() throws -> [ParsedEvent]? {
        switch stream.nextStep() {
        case .write(let bytes), .writeAll(let bytes), .finish(let bytes):
            bytes.isEmpty ? nil : try parser.withLock { try $0.feed(bytes) }
        case .wait: nil
        }
    }

    /// Reads all batches.
    func read() throws -> [ParsedEvent] {
        var events: [ParsedEvent] = []
        while let batch = try readBatch() { events += batch }
        return events
    }
}

/// The members of a control event, a state or a label that tests check.
struct EventData: Decodable, Equatable {
    struct Label: Decodable, Equatable {
        var type: String
        var text: String?
    }

    struct State: Decodable, Equatable {
        var count: Int?
        var note: String?
        var isWatched: Bool?
    }

    var session: String?
    var epoch: String?
    var resumed: Bool?
    var cursor: String?
    var heartbeat: Int?
    var features: [String]?
    var feature: String?
    var version: UInt64?
    var intent: String?
    var state: State?
    var id: String?
    var replay: Bool?
    var label: Label?
    var reason: String?
    var labelsLost: Bool?
    var retry: Int?
    var t: UInt64?
}

extension ParsedEvent {
    var json: EventData {
        get throws { try WireJSON.decode(EventData.self, from: data) }
    }
}

extension [ParsedEvent] {
    var names: [String] { map(\.name) }

    func named(_ name: String) -> [ParsedEvent] { filter { $0.name == name } }

    /// The texts of the labels, in order.
    var said: [String] {
        get throws { try named("label").map { try $0.json.label?.text ?? "" } }
    }

    var counts: [Int] {
        get throws { try named("state").compactMap { try $0.json.state?.count } }
    }
}

extension Result<IntentOutcome, StoreError> {
    /// The name of the refusal, nil for a success.
    var refusal: String? {
        switch self {
        case .success(let outcome): outcome.refusal.map { "replayed \($0.status)" }
        case .failure(let error):
            switch error.code {
            case .mismatch, .unknownIntent: "mismatch \(error.issues.map(\.pointer))"
            case .outOfSequence: "outOfSequence \(error.expectedNumber ?? 0)"
            default: "\(error.code)"
            }
        }
    }
}

/// Expects a refusal with that code.
func expectError<Value>(
    _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value
) {
    #expect(sourceLocation: sourceLocation) {
        _ = try body()
    } throws: {
        ($0 as? StoreError)?.code == code
    }
}
