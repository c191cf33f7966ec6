import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing
import WireJSON

/// A source of texts outside the server. It yields what a test feeds.
final class Source: Sendable {
    typealias Texts = AsyncThrowingStream<String, any Error>

    /// The streams that were made, one for each time that an observation began.
    let made = Collected<Texts.Continuation>()
    /// The number of streams that are not observed any more.
    let ended = Collected<Bool>()
    private let first: String?

    /// - Parameter first: the first element of each stream; nil if the test feeds that, too.
    init(first: String? = nil) { self.first = first }

    func make() -> Texts {
        Texts { continuation in
            continuation.onTermination = { [ended] _ in ended.append(true) }
            if let first { continuation.yield(first) }
            made.append(continuation)
        }
    }

    func yield(_ text: String) { made.all.last?.yield(text) }
    func finish(throwing error: (any Error)? = nil) { made.all.last?.finish(throwing: error) }
}

/// Shows what sources yield.
struct Notice: Feature {
    struct State: Codable, Equatable, Sendable {
        var texts: [String: String] = [:]
        var count = 0
    }
    enum Intent: Codable, Sendable { case count, observe }
    enum Message: Codable, Sendable { case read(source: String, text: String), counted }
    enum Label: Codable, Equatable, Sendable { case read(text: String) }
    static let examples: [Intent] = [.count, .observe]
    static let labelExamples: [Label] = [.read(text: "a")]
    let initialState = State()
    /// In the order of their names.
    var sources: [String: Source]
    var lifetime = WorkLifetime.whileWatched()

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        for name in sources.keys.sorted() where name != "later" { observe(name, &turn) }
    }

    private func observe(_ name: String, _ turn: inout Turn<Self>) {
        guard let source = sources[name] else { return }
        turn.observe(id: "\(name)", lifetime) {
            source.make()
        } onElement: { text, work in
            await work.turn { turn in
                guard turn.state.texts[name] != text else { return }
                turn.dispatch(.read(source: name, text: text))
                turn.publish(.read(text: text))
            }
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .count: turn.dispatch(.counted)
        case .observe: observe("later", &turn)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .read(let source, let text): state.texts[source] = text
        case .counted: state.count += 1
        }
    }
}

/// Copies what a notice shows.
struct Copy: Feature {
    struct State: Codable, Equatable, Sendable { var copies: [String] = [] }
    enum Intent: Codable, Sendable { case copy, work, note(text: String), fail }
    typealias Message = String
    struct Broken: Error {}
    static let examples: [Intent] = [.copy, .work, .note(text: "a"), .fail]
    let initialState = State()
    var copiesAtStart = false
    /// Observed, and each element's turn copies the notice.
    var source: Source?

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws {
        if copiesAtStart { try copy(&turn) }
        guard let source else { return }
        turn.observe(id: "source", .store) {
            source.make()
        } onElement: { _, work in
            try await work.turn { (turn: inout Turn<Self>) throws in try copy(&turn) }
        }
    }

    private func copy(_ turn: inout Turn<Self>) throws {
        let notice = try turn.view(of: Notice.self)
        turn.dispatch(notice.texts["a"] ?? "nothing")
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .copy: try copy(&turn)
        case .work: turn.launch { work in try await work.turn { (turn: inout Turn<Self>) throws in try copy(&turn) } }
        case .note(let text): turn.dispatch(text)
        case .fail: throw Broken()
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {
        let notice = try? turn.view(of: Notice.self)
        turn.dispatch("failed \(notice?.texts["a"] ?? "nothing")")
    }

    func reduce(_ state: inout State, _ message: String) { state.copies.append(message) }
}

/// A session with a notice and a copy, on a clock and an executor of the test.
struct ObservedFixture {
    struct Shown: Decodable, Equatable {
        var feature: String?
        var stale: Bool?
        var state: Notice.State?
        var label: Notice.Label?
    }

    let clock: ManualClock
    let executor: TestExecutor
    let table: SessionTable
    let session: Session
    let token: SessionToken
    let notice = FeatureID(name: "notice", key: nil)
    let copy = FeatureID(name: "copy", key: nil)

    init(
        _ notice: Notice, copy: Copy = Copy(), journal: any Journal = MemoryJournal(), token: SessionToken? = nil,
        _ change: (inout SessionLimits) -> Void = { _ in }
    ) throws {
        var limits = SessionLimits.patient
        change(&limits)
        let (clock, executor) = (ManualClock(), TestExecutor())
        (self.clock, self.executor) = (clock, executor)
        let now: @Sendable () -> Duration = { clock.now.offset + .seconds(1_700_000_000) }
        table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(notice), FeatureDefinition(copy)]),
                limits: limits, journal: journal, time: TimeSource(monotonic: now, sinceEpoch: now), clock: clock,
                executor: executor))
        if let token {
            (session, self.token) = (try table.live(token), token)
        } else {
            (session, self.token) = try table.made(.bearer)
        }
    }

    /// Lets everything run that does not wait for the clock or for a source.
    func settle() async { await executor.idle() }

    func advance(by time: Duration) async { await clock.advance(by: time, running: executor) }

    /// A read that may wait.
    func read(_ feature: FeatureID? = nil) -> Box<Result<StateSnapshot, StoreError>> {
        let box = Box<Result<StateSnapshot, StoreError>>()
        session.state(of: feature ?? notice) { box.set($0) }
        return box
    }

    func text(_ box: Box<Result<StateSnapshot, StoreError>>, _ source: String = "a") throws -> String? {
        let state = try #require(box.value, "the read was to be over").get()
        return try WireJSON.decode(Notice.State.self, from: state.view).texts[source]
    }

    func isStale(_ box: Box<Result<StateSnapshot, StoreError>>) throws -> Bool {
        try #require(box.value, "the read was to be over").get().isStale
    }

    func post(_ body: String, to feature: FeatureID? = nil, name: IntentRequest.Name? = nil) -> Answer {
        let answer = Answer()
        session.send(IntentRequest(body: Array(body.utf8), name: name), to: feature ?? copy) { answer.set($0) }
        return answer
    }

    var copies: [String] {
        get throws { try WireJSON.decode(Copy.State.self, from: try session.stateNow(of: copy).view).copies }
    }

    func stream(_ filter: StreamFilter? = nil, delta: DeltaForm? = nil) throws -> TestStream {
        try session.opened(filter ?? .features([notice]), from: .unspecified, delta: delta)
    }
}

extension TestStream {
    /// The states and labels that it writes, as text: the texts of the source "a", `!` if stale, labels in brackets.
    func shown() throws -> [String] {
        try read().compactMap { event in
            guard ["state", "patch", "label"].contains(event.name) else { return nil }
            let data = try WireJSON.decode(ObservedFixture.Shown.self, from: event.data)
            if case .read(let text)? = data.label { return "[\(text)]" }
            let text = event.name == "patch" ? "patch" : data.state?.texts["a"] ?? "nothing"
            return text + (data.stale == true ? "!" : "")
        }
    }
}
