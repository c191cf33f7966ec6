import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A list that several people share.
struct Chores: Feature {
    struct Item: Codable, Equatable, Sendable {
        var text: String
        var by: String
    }
    struct State: Codable, Equatable, Sendable { var items: [Item] = [] }
    enum Intent: Codable, Sendable {
        case add(text: String), call(text: String), report, sibling, tell(text: String, to: String)
        /// Tells in work.
        case tellLater(text: String, to: String)
    }
    enum Action: Codable, Sendable { case forget(senders: [String]), tell(text: String, to: String) }
    enum Message: Codable, Sendable { case added(Item), removed(by: [String]) }
    enum Label: Codable, Equatable, Sendable { case called(text: String), told(Int) }

    static let examples: [Intent] = [
        .add(text: "milk"), .call(text: "tea"), .report, .sibling, .tell(text: "tea", to: "sender"),
        .tellLater(text: "tea", to: "sender"),
    ]
    static let labelExamples: [Label] = [.called(text: "tea"), .told(1)]
    static let summary = "A list of chores."

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let text): turn.dispatch(.added(Item(text: text, by: turn.sender?.id ?? "nobody")))
        case .call(let text): turn.publish(.called(text: text))
        case .report: turn.publish(.told(turn.state.items.count))
        case .sibling: turn.send(.add(amount: 1), to: Tally.self)
        case .tell(let text, let to): turn.publish(.called(text: text), to: Addressee(to))
        case .tellLater(let text, let to):
            turn.launch { work in await work.publish(.called(text: text), to: Addressee(to)) }
        }
    }

    static func forgetting(_ person: ForgottenPerson) -> Action? {
        person.subject.id == "stays" ? nil : .forget(senders: person.senders.sorted())
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        guard turn.state.items.last?.text != "glue" else { throw Refusal(.conflict, code: "glued", "It is glued.") }
        switch action {
        case .forget(let senders): turn.dispatch(.removed(by: senders))
        case .tell(let text, let to): turn.publish(.called(text: text), to: Addressee(to))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let item): state.items.append(item)
        case .removed(let senders): state.items.removeAll { senders.contains($0.by) }
        }
    }
}

extension Addressee {
    /// Reads `everyone`, `sender`, `session ID` or `subject ID`, or the name of an audience.
    init(_ text: String, audience: (String) -> Self = { _ in .everyone }) {
        let words = text.split(separator: " ").map(String.init)
        switch words[0] {
        case "everyone": self = .everyone
        case "sender": self = .sender
        case "session": self = .session(words[1])
        case "subject": self = .subject(Subject(issuer: "i", id: words[1]))
        default: self = audience(text)
        }
    }
}

/// A server with a shared feature, and its clients.
struct SpaceFixture {
    let table: SessionTable
    let time = ManualTime()
    let clock = ManualClock()
    let features: FeatureRegistry

    init(
        journal: any Journal = MemoryJournal(), rule: AccessRule? = nil, ownRule: AccessRule? = nil,
        executor: (any TaskExecutor)? = nil, isNewer: Bool = false,
        report: @escaping @Sendable (StoreReport) -> Void = { _ in },
        change: (inout SessionLimits) -> Void = { _ in }
    ) throws {
        var limits = SessionLimits.patient
        change(&limits)
        let group = SpaceGroup("chores", isKeyed: true)
        features = try FeatureRegistry([
            FeatureDefinition(Tally(), rule: ownRule),
            FeatureDefinition(
                rule: rule ?? { _, _, access in access != .dispose },
                spaces: rule == nil ? group.forEveryone : group
            ) { key, _ in key == "none" ? nil : Chores() },
            FeatureDefinition(
                rule: rule ?? { _, _, access in access != .dispose }, spaces: SpaceGroup("door", isKeyed: true)
            ) { _, _ in Door() },
            FeatureDefinition(
                rule: rule ?? { _, _, access in access != .dispose }, spaces: SpaceGroup("room", isKeyed: true)
            ) { _, _ in Room() },
            FeatureDefinition(Letters<BoxPlace>()),
            isNewer ? try Self.boards(NewerBoardPlace.self) : try Self.boards(BoardPlace.self),
        ])
        table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: journal, time: time.source, clock: clock,
                executor: executor, report: report))
    }

    private static func boards<Place: LetterPlace>(_ place: Place.Type) throws -> FeatureDefinition {
        try FeatureDefinition(spaces: SpaceGroup("board", isKeyed: true)) { key, _ in
            key == "none" ? nil : Letters<Place>()
        }
    }

    func space(_ key: String, for client: SpaceClient? = nil) throws -> Session {
        let name = try #require(SpaceName(Self.name(of: key)))
        let found = Box<SessionLookup>()
        table.space(name, permit: { client?.session.takeSpace() }) { found.set($0) }
        if case .failed(let error)? = found.value { throw error }
        guard case .live(let session, _)? = found.value else { throw SessionTable.NotLive() }
        return session
    }

    /// The name of an instance, which is a list of chores unless it names its feature.
    static func name(of key: String) -> String { key.contains(":") ? key : "chores:\(key)" }

    /// An anonymous client.
    func guest(_ settings: ClientSettings? = nil) throws -> SpaceClient {
        let (session, token) = try table.made(.bearer, settings)
        return SpaceClient(fixture: self, session: session, token: token, credential: nil)
    }

    /// A signed-in client.
    func user(_ subject: String, _ claims: [ClaimName: ClaimValue] = [:]) async throws -> SpaceClient {
        let principal = Principal(issuer: "i", subject: subject, claims: claims)
        let made = try await table.create(.bearer, for: principal, isShared: false).get().0
        guard case .live(let session, let credential?) = try table.found(made.token) else {
            throw SessionTable.NotLive()
        }
        return SpaceClient(fixture: self, session: session, token: made.token, credential: credential)
    }
}

/// Two nodes of one cluster that serve a shared feature, each with clocks of its own.
struct SpacePair {
    let cluster = NodeJournal.Cluster()
    let kept = MemoryJournal()
    let here: SpaceFixture
    let there: SpaceFixture
    let hereJournal: NodeJournal
    let thereJournal: NodeJournal

    init(rule: AccessRule? = nil) throws {
        (hereJournal, thereJournal) = (NodeJournal(kept, cluster), NodeJournal(kept, cluster))
        here = try SpaceFixture(journal: hereJournal, rule: rule)
        there = try SpaceFixture(journal: thereJournal, rule: rule)
        for node in [here, there] { node.table.listen() }
        beat([here, there])
    }

    /// Advances some seconds, in which these nodes run.
    func pass(_ seconds: Int, running: [SpaceFixture]? = nil) {
        for _ in 0..<seconds {
            for node in [here, there] { node.time.advance(by: .seconds(1)) }
            beat(running ?? [here, there])
        }
    }

    private func beat(_ nodes: [SpaceFixture]) {
        for node in nodes { node.table.beat(at: node.table === here.table ? "here:1" : "there:2") }
    }

    /// A client of one node as it asks the other.
    func moved(_ client: SpaceClient, to node: SpaceFixture) throws -> SpaceClient {
        guard case .live(let session, let credential) = try node.table.found(client.token) else {
            throw SessionTable.NotLive()
        }
        return SpaceClient(fixture: node, session: session, token: client.token, credential: credential)
    }

    func owner(of list: String = "party") throws -> NodeID? {
        let name = try #require(SpaceName("chores:\(list)"))
        let found = Box<Result<SessionLoad, StoreError>>()
        kept.load(TokenHash(space: name), now: .zero) { found.set($0) }
        guard case .success(.found(let space))? = found.value else { return nil }
        return space.owner?.node
    }
}

extension SpaceFixture {
    var node: NodeID? { table.environment.lease?.id }
}

/// A client that acts in spaces.
struct SpaceClient {
    let fixture: SpaceFixture
    let session: Session
    let token: SessionToken
    let credential: Credential?

    var own: SessionClient { SessionClient(credential) }
    var client: SessionClient { own.in(session) }

    func send(
        _ body: String, key: String? = nil, name: IntentRequest.Name? = nil, to list: String = "party",
        ifMatch: (@Sendable (ClosedRange<UInt64>) -> Bool)? = nil
    ) throws -> Result<IntentOutcome, StoreError> {
        let answer = Box<Result<IntentOutcome, StoreError>>()
        try fixture.space(list).send(
            IntentRequest(
                body: Array(body.utf8), name: name ?? key.map { .key($0) }, ifMatch: ifMatch, client: client),
            to: try #require(FeatureID(SpaceFixture.name(of: list)))
        ) { answer.set($0) }
        return try #require(answer.value, "the answer was to come at once")
    }

    func state(of list: String = "party") throws -> Result<Chores.State, StoreError> {
        let state = Box<Result<StateSnapshot, StoreError>>()
        try fixture.space(list).state(of: try #require(FeatureID("chores:\(list)")), for: client) { state.set($0) }
        return try #require(state.value, "the state was to come at once").map { snapshot in
            (try? WireJSON.decode(Chores.State.self, from: snapshot.view)) ?? Chores.State()
        }
    }

    /// A list as a stream names it, of which the stores are here.
    func named(_ list: String) throws -> StreamBundle.Named {
        let space = try fixture.space(list)
        return StreamBundle.Named(try #require(space.space), [try #require(FeatureID(SpaceFixture.name(of: list)))]) {
            open, refuse in open(space) { isOpen in if !isOpen { refuse(.elsewhere) } }
        }
    }

    func stream(
        _ lists: String..., own features: [String] = [], from start: StreamStart = .unspecified, delta: DeltaForm? = nil
    ) throws -> BundleReader {
        let opened = Box<Result<StreamBundle, StoreError>>()
        StreamBundle.open(
            session, try features.map { try #require(FeatureID($0)) },
            try lists.map { try named($0) },
            from: start, delta: delta, for: own
        ) { opened.set($0) }
        return BundleReader(try #require(opened.value, "the stream was to come at once").get())
    }

    func snapshot(
        of list: String, wait: Duration? = nil,
        until isNews: @escaping @Sendable (StateSnapshot) -> Bool = { _ in true }
    ) throws -> Box<Result<StateSnapshot, StoreError>> {
        let state = Box<Result<StateSnapshot, StoreError>>()
        let feature = try #require(FeatureID(SpaceFixture.name(of: list)))
        if let wait {
            try fixture.space(list).state(of: feature, for: client, wait: wait, until: isNews) { state.set($0) }
        } else {
            try fixture.space(list).state(of: feature, for: client) { state.set($0) }
        }
        return state
    }
}

/// Reads a bundle as a client does whose socket takes everything at once.
final class BundleReader {
    let stream: StreamBundle
    private var parser = EventParser()
    private(set) var lastID = ""
    private(set) var isOver = false
    private(set) var bytes: [UInt8] = []

    private let waker = Waker()
    /// How often its connection was woken.
    var wakes: Int { waker.count.withLock { $0 } }

    private final class Waker: StreamWaker {
        let count = Lock(0)
        func wake() { count.withLock { $0 += 1 } }
    }

    init(_ stream: StreamBundle) {
        self.stream = stream
        stream.opened(waker)
    }

    deinit { stream.closed() }

    /// The events that are there now, as `name data`, without `hello`.
    func events() throws -> [String] { try parsed().map { "\($0.name) \($0.text)" } }

    func parsed() throws -> [ParsedEvent] {
        var events: [ParsedEvent] = []
        reading: while !isOver {
            let new: [UInt8]
            switch stream.nextStep() {
            case .write(let bytes), .writeAll(let bytes): new = bytes
            case .finish(let bytes): (new, isOver) = (bytes, true)
            case .wait: break reading
            }
            bytes += new
            events += try parser.feed(new)
        }
        for event in events { if let id = event.id { lastID = id } }
        return events
    }
}
