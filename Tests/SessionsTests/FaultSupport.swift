import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

// The helpers of the fault tests for the journal's protocol, refusals and tables. A new `Journal` protocol changes this
// file and `HeldJournal`, but none of those tests.

// MARK: The journal

extension HeldJournal {
    /// The result of a held append.
    enum End {
        /// It is committed, and its writer learns that.
        case committed
        /// It is not committed.
        case failed(StoreError.Code)
        /// It is committed, but its writer gets an unknown outcome.
        case lost
    }

    /// Ends the oldest held append.
    func endOne(_ end: End) {
        let detail = "A test wants it so."
        switch end {
        case .committed: releaseOne()
        case .failed(let code): releaseOne(.failed(StoreError(code, detail)))
        case .lost: commitUnheard(StoreError(.unavailable, detail))
        }
    }

    /// Returns the number of labels that the journal keeps for a session.
    func keptLabels(of session: Session) throws -> Int {
        let export = Box<Result<SessionExport?, StoreError>>()
        self.export(session.id) { export.set($0) }
        let kept = try #require(export.value, "the export was to come at once").get()
        return try #require(kept).session.labels.count
    }
}

extension SimulatedJournal {
    /// Runs all requests and delivers all results, including those that follow from them.
    func settle() { while work() || tell() {} }
}

// MARK: Refusals

extension Result<IntentOutcome, StoreError> {
    /// The client's answer in the words of the contract: `ran`, `replayed`, or the kind of refusal.
    var told: String {
        switch self {
        case .success(let outcome): outcome.isReplayed ? "replayed" : "ran"
        case .failure(let error):
            switch error.code {
            case .outOfSequence: "expected \(error.expectedNumber ?? 0)"
            case .receiptExpired: "receipt expired"
            case .receiptPending: "pending"
            case .unavailable, .contended, .newerState: "unavailable"
            case .tooLarge: "too large"
            case .notEncodable: "not encodable"
            default: "\(error.code)"
            }
        }
    }

    /// True if the same request may run later.
    var isForNow: Bool { ["pending", "evicted", "unavailable", "full", "busy"].contains(told) }

    /// The answer if the session could not be loaded.
    static var notThere: IntentResult { .failure(StoreError(.evicted, "The simulation could not have it.")) }
}

extension Session {
    /// Sends an intent; its answer may come later.
    func send(_ body: String, to feature: FeatureID, name: IntentRequest.Name? = nil) -> Answer {
        let answer = Answer()
        send(IntentRequest(body: Array(body.utf8), name: name), to: feature) { answer.set($0) }
        return answer
    }

    /// Sends an intent and returns the answer, which must come at once.
    @discardableResult
    func told(_ body: String, to feature: FeatureID, name: IntentRequest.Name? = nil) throws -> String {
        try #require(send(body, to: feature, name: name).value, "the answer was to come at once").told
    }

    /// Sends an intent and returns the final answer: after a conflict the session's queue may continue on another
    /// thread.
    func toldLater(_ body: String, to feature: FeatureID) async -> String {
        await withCheckedContinuation { continuation in
            send(IntentRequest(body: Array(body.utf8)), to: feature) { continuation.resume(returning: $0.told) }
        }
    }

    /// Refuses a request whose body was too large; the refusal consumes its number.
    func refuseUnread(_ name: IntentRequest.Name) {
        useUp(name, RecordedRefusal(status: 413, body: [1]), for: FeatureID(name: "tally", key: nil)) { _ in }
    }

    /// The view state, if a read returns it at once.
    func shown(_ feature: FeatureID) -> (version: UInt64, text: String)? {
        let state = Box<Result<StateSnapshot, StoreError>>()
        self.state(of: feature) { state.set($0) }
        guard case .success(let snapshot) = state.value else { return nil }
        return (snapshot.version, String(decoding: snapshot.view, as: UTF8.self))
    }

    func text(shownOf feature: FeatureID) throws -> String { try #require(shown(feature)).text }
}

extension Answer {
    /// The client's answer; `nothing` as long as there is none.
    var told: String { value?.told ?? "nothing" }
}

// MARK: Processes

/// Processes over one journal.
struct Cluster {
    let kept = MemoryJournal()
    let time = ManualTime()
    let clock = ManualClock()

    /// Creates a process; `journal` makes its journal on top of `kept`.
    func node(
        _ features: FeatureDefinition..., journal: (any Journal)? = nil, executor: (any TaskExecutor)? = nil,
        limits change: (inout SessionLimits) -> Void = { _ in },
        report: @escaping @Sendable (StoreReport) -> Void = { _ in }
    ) throws -> SessionTable {
        var limits = SessionLimits.patient
        change(&limits)
        return try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry(features), limits: limits, journal: journal ?? kept, time: time.source,
                clock: clock, executor: executor, report: report))
    }
}

// MARK: A feature

/// A feature whose steps a test can observe and hold; its state records their order.
struct Probe: Feature {
    struct State: Codable, Equatable, Sendable {
        var entries: [String] = []
        var text = ""
        var ratio = 0.0
    }
    enum Intent: Codable, Equatable, Sendable {
        case put(text: String)
        case say(text: String)
        case fill(text: String, bytes: Int)
        case spoil(text: String)
        case fail(text: String)
        case launch(text: String)
    }
    enum Message: Codable, Sendable { case entered(String), filled(String, bytes: Int), spoiled }
    enum Label: Codable, Equatable, Sendable { case said(text: String) }
    struct Broken: Error {}

    /// The actions of a test. They run on the thread of the handler.
    struct Hooks: Sendable {
        var intercept: (@Sendable (Intent) throws -> Intent)?
        var observe: (@Sendable (StoreObservation<Probe>) -> Void)?
        var execute: @Sendable (Intent) -> Void = { _ in }
        var view: @Sendable (State) -> Void = { _ in }
        var work: @Sendable (Work<Probe>) async throws -> Void = { _ in }
        /// The policy of a launch for running work.
        var policy = WorkPolicy.parallel
        /// True if a new store's bootstrap adds an entry.
        var bootstraps = false
    }

    static let name = "probe"
    static let examples: [Intent] = [
        .put(text: "a"), .say(text: "a"), .fill(text: "a", bytes: 1), .spoil(text: "a"), .fail(text: "a"),
        .launch(text: "a"),
    ]
    static let labelExamples: [Label] = [.said(text: "a")]

    let initialState = State()
    var hooks = Hooks()

    /// Returns a definition with the keys `probe:a`, `probe:b` and so on.
    static func definition(_ hooks: Hooks = Hooks()) throws -> FeatureDefinition {
        try FeatureDefinition(keyed: { _, _ in Probe(hooks: hooks) })
    }

    var middleware: Middleware<Probe> {
        var middleware = Middleware<Probe>()
        if let intercept = hooks.intercept {
            middleware = middleware.combined(with: .intercepting { intent, _ in try intercept(intent) })
        }
        if let observe = hooks.observe { middleware = middleware.combined(with: .observing { observe($0) }) }
        return middleware
    }

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if hooks.bootstraps, reason == .new { turn.dispatch(.entered("bootstrap")) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        hooks.execute(intent)
        switch intent {
        case .put(let text): turn.dispatch(.entered(text))
        case .say(let text):
            turn.dispatch(.entered(text))
            turn.publish(.said(text: text))
        case .fill(let text, let bytes): turn.dispatch(.filled(text, bytes: bytes))
        case .spoil: turn.dispatch(.spoiled)
        case .fail(let text):
            turn.dispatch(.entered(text))
            throw Broken()
        case .launch: turn.launch(id: "work", policy: hooks.policy) { [hooks] work in try await hooks.work(work) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .entered(let text): state.entries.append(text)
        case .filled(let text, let bytes): state.text = text + String(repeating: ".", count: bytes)
        case .spoiled: state.ratio = .infinity
        }
    }

    func view(_ state: State) -> State {
        hooks.view(state)
        return state
    }
}

extension Probe.Intent {
    /// The name that the test gave it.
    var text: String {
        switch self {
        case .put(let text), .say(let text), .fill(let text, _), .spoil(let text), .fail(let text), .launch(let text):
            text
        }
    }

    /// The intent as a client sends it.
    var body: String {
        get throws { String(decoding: try WireJSON.encode(self), as: UTF8.self) }
    }
}

extension Session {
    /// Sends an intent to a probe; its answer may come later.
    func send(_ intent: Probe.Intent, to feature: FeatureID, name: IntentRequest.Name? = nil) throws -> Answer {
        send(try intent.body, to: feature, name: name)
    }

    @discardableResult
    func told(_ intent: Probe.Intent, to feature: FeatureID, name: IntentRequest.Name? = nil) throws -> String {
        try told(try intent.body, to: feature, name: name)
    }

    /// The entries in a probe's view.
    func entries(of feature: FeatureID) throws -> [String] {
        let text = try text(shownOf: feature)
        return try WireJSON.decode(Probe.State.self, from: Array(text.utf8)).entries
    }
}

/// The ids of two probes in sorted order.
struct Probes {
    let first: FeatureID
    let second: FeatureID

    init() throws {
        first = try #require(FeatureID("probe:a"))
        second = try #require(FeatureID("probe:b"))
    }
}

// MARK: Streams

/// A client that reads as soon as it is woken.
final class EagerClient: StreamWaker {
    private let stream: SessionStream
    private let state = Lock((parser: EventParser(), events: [ParsedEvent](), faults: [String]()))

    init(_ stream: SessionStream) {
        self.stream = stream
        stream.opened(self)
        wake()
    }

    func wake() {
        while true {
            switch stream.nextStep() {
            case .write(let bytes), .writeAll(let bytes): take(bytes)
            case .finish(let bytes): return take(bytes)
            case .wait: return
            }
        }
    }

    private func take(_ bytes: [UInt8]) {
        state.withLock { state in
            do { state.events += try state.parser.feed(bytes) } catch { state.faults.append("\(error)") }
        }
    }

    var events: [ParsedEvent] { state.withLock { $0.events } }
    var faults: [String] { state.withLock { $0.faults } }
}

extension [ParsedEvent] {
    /// The texts of the labels that came before the state of their turn or a newer one.
    var labelsBeforeTheirState: [String] {
        get throws {
            var versions: [String: UInt64] = [:]
            var early: [String] = []
            for event in self {
                guard event.name == "state" || event.name == "label" else { continue }
                let data = try event.json
                guard let feature = data.feature, let version = data.version else { continue }
                if event.name == "state" {
                    versions[feature] = version
                } else if version > versions[feature] ?? 0 {
                    early.append(data.label?.text ?? "")
                }
            }
            return early
        }
    }
}

// MARK: Work

/// Blocks work, canceled or not, until the test opens it.
final class Latch: Sendable {
    private let state = Lock((isOpen: false, waiters: [CheckedContinuation<Void, Never>]()))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension SteppedExecutor {
    /// Runs all ready tasks and those that become ready.
    func drain() {
        var random = SplitMix(seed: 1)
        while step(&random) {}
    }
}
