import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing
import WireJSON

/// A feature in its first form, and in later versions.
enum Shop {
    struct First: Feature {
        struct State: Codable, Equatable, Sendable {
            var items = 0
            var note: String?
        }
        enum Intent: Codable, Sendable { case add, note(text: String) }
        static let name = "shop"
        static let examples: [Intent] = [.add, .note(text: "a")]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) {
            switch intent {
            case .add: state.items += 1
            case .note(let text): state.note = text
            }
        }
    }

    /// One more member, with a default; the same schema version.
    struct WithMember: Feature {
        struct State: Codable, Equatable, Sendable {
            var items = 0
            var note: String? = "none yet"
            var currency = "EUR"
            var discount: Int? = 5
        }
        enum Intent: Codable, Sendable { case add }
        static let name = "shop"
        static let examples: [Intent] = [.add]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) { state.items += 1 }
    }

    /// Another state, with a migration from the first.
    struct Migrated: Feature {
        struct State: Codable, Equatable, Sendable { var lines: [String] = [] }
        enum Intent: Codable, Sendable { case add }
        struct Old: Decodable { var items: Int }
        static let name = "shop"
        static let schemaVersion = 2
        static let migrations = [
            Migration(from: 1, Old.self) { State(lines: (0..<$0.items).map { "item \($0)" }) }
        ]
        static let examples: [Intent] = [.add]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) { state.lines.append("new") }
    }

    /// Another state, without a migration from the first.
    struct Broken: Feature {
        struct State: Codable, Equatable, Sendable { var lines = ["first"] }
        enum Intent: Codable, Sendable { case add }
        static let name = "shop"
        static let schemaVersion = 7
        static let examples: [Intent] = [.add]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) { state.lines.append("new") }
    }

    /// The same state with another view.
    struct ShownAnew: Feature {
        struct State: Codable, Equatable, Sendable { var items = 0 }
        struct ViewState: Codable, Equatable, Sendable { var title: String }
        enum Intent: Codable, Sendable { case add }
        static let name = "shop"
        static let examples: [Intent] = [.add]
        let initialState = State()
        func reduce(_ state: inout State, _ intent: Intent) { state.items += 1 }
        func view(_ state: State) -> ViewState { ViewState(title: "\(state.items) items") }
    }
}

/// Consecutive processes on one journal.
private struct Lives {
    let journal = MemoryJournal()
    let time = ManualTime()
    let clock = ManualClock()
    let reports = Lock<[String]>([])

    func table(_ features: FeatureDefinition..., limits: SessionLimits = .patient) throws -> SessionTable {
        try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry(features), limits: limits, journal: journal, time: time.source, clock: clock,
                report: { [reports] report in
                    if case .stateSetAside(let reason, _) = report { reports.withLock { $0.append(reason) } }
                }))
    }
}

extension Session {
    fileprivate func run(_ body: String, on feature: FeatureID, name: IntentRequest.Name? = nil) throws -> IntentResult
    {
        let answer = Box<IntentResult>()
        send(
            IntentRequest(body: Array(body.utf8), name: name), to: feature,
            record: { _ in RecordedRefusal(status: 422, body: [1]) }
        ) {
            answer.set($0)
        }
        return try #require(answer.value, "the answer was to come at once")
    }

    fileprivate func text(of feature: FeatureID) throws -> String {
        String(decoding: try stateNow(of: feature).view, as: UTF8.self)
    }
}

@Suite("Loaded sessions (rules 4, 50 to 52)")
struct RestoreTests {
    private let shop: FeatureID

    init() throws { shop = try #require(FeatureID("shop")) }

    @Test("50: state, version, cursor, labels and receipts are restored, and bootstrap is told so")
    func restart() throws {
        let lives = Lives()
        let before = try lives.table(FeatureDefinition(Tally()))
        let (session, token) = try before.made(.cookie)
        let tally = try #require(FeatureID("tally"))
        let stream = try session.opened(.all, from: .unspecified)
        _ = try session.run(#"{"type":"shoutMany","texts":["a","b"]}"#, on: tally, name: .key("k")).get()
        let cursor = try #require(try stream.read().last?.id)
        _ = try session.run(#"{"type":"shout","text":"c"}"#, on: tally)
        let (version, epoch) = (try session.stateNow(of: tally).version, session.epoch)

        let back = try lives.table(FeatureDefinition(Tally())).live(token)
        #expect(back !== session && back.id == session.id && back.epoch == epoch && back.credential == .cookie)
        #expect(try back.stateNow(of: tally).version == version)
        #expect(back.storeIDs == [tally])
        let replay = try back.run(#"{"type":"shoutMany","texts":["a","b"]}"#, on: tally, name: .key("k")).get()
        #expect(replay.isReplayed && replay.version == version)
        let resumed = try back.opened(.all, from: .cursor(cursor)).read()
        #expect(resumed.names == ["hello", "state", "label"])
        #expect(try resumed[0].json.resumed == true)
        #expect(try resumed.said == ["c"])
        #expect(try resumed[2].json.replay == true)
        _ = try back.run(#"{"type":"add","amount":1}"#, on: tally)
        // The number after that of the last label.
        #expect(try back.stateNow(of: tally).version == version + 2)
    }

    @Test("27: a label that a stream wrote is not new after a restart, if that was recorded")
    func writtenLabels() async throws {
        let lives = Lives()
        let before = try lives.table(FeatureDefinition(Tally()))
        let (session, token) = try before.made(.bearer)
        let tally = try #require(FeatureID("tally"))
        let stream = try session.opened(.all, from: .unspecified)
        _ = try session.run(#"{"type":"shout","text":"old"}"#, on: tally)
        #expect(try stream.read().said == ["old"])
        stream.stream.closed()
        _ = try session.run(#"{"type":"shout","text":"new"}"#, on: tally)
        await before.flush()
        let back = try lives.table(FeatureDefinition(Tally())).live(token)
        #expect(try back.opened(.all, from: .unspecified).read().said == ["new"])
    }

    @Test("51: members that a stored state lacks come from the initial state, and nil stays nil")
    func addedMembers() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Shop.First())).made(.bearer)
        _ = try session.run(#"{"type":"add"}"#, on: shop).get()
        let back = try lives.table(FeatureDefinition(Shop.WithMember())).live(token)
        #expect(try back.text(of: shop) == #"{"items":1,"currency":"EUR","discount":5}"#)
    }

    @Test("51: an older state is migrated, and the store continues at a higher version")
    func migration() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Shop.First())).made(.bearer)
        for _ in 0..<2 { _ = try session.run(#"{"type":"add"}"#, on: shop).get() }
        let version = try session.stateNow(of: shop).version
        let back = try lives.table(FeatureDefinition(Shop.Migrated())).live(token)
        #expect(try back.text(of: shop) == #"{"lines":["item 0","item 1"]}"#)
        #expect(try back.stateNow(of: shop).version == version + 1)
        // It was stored in its new form at once: the next process needs no migration.
        let again = try lives.table(FeatureDefinition(Shop.Migrated())).live(token)
        #expect(try again.stateNow(of: shop) == back.stateNow(of: shop))
        #expect(lives.reports.withLock { $0.isEmpty })
    }

    @Test("51: a state that cannot be read is set aside and reported; the store starts new, and its streams are told")
    func setAside() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Shop.First())).made(.bearer)
        let stream = try session.opened(.features([shop]), from: .unspecified)
        _ = try session.run(#"{"type":"add"}"#, on: shop).get()
        let cursor = try #require(try stream.read().last?.id)
        let version = try session.stateNow(of: shop).version

        let back = try lives.table(FeatureDefinition(Shop.Broken())).live(token)
        let resumed = try back.opened(.features([shop]), from: .cursor(cursor)).read()
        #expect(resumed.names == ["hello", "reset", "state"])
        #expect(try resumed[1].json.reason == "store-replaced")
        #expect(try back.text(of: shop) == #"{"lines":["first"]}"#)
        #expect(try back.stateNow(of: shop).version == version + 1)
        #expect(lives.reports.withLock { $0.count } == 1)

        let kept = Box<SessionExport>()
        lives.journal.export(session.id) { result in
            if let export = try? result.get() { kept.set(export) }
        }
        let aside = try #require(kept.value?.setAside.first)
        #expect(aside.feature == shop && aside.schemaVersion == 1)
        #expect(String(decoding: aside.state, as: UTF8.self) == #"{"items":1,"note":null}"#)
        // Later clients with an old cursor get it too, those with a new one do not.
        let third = try lives.table(FeatureDefinition(Shop.Broken())).live(token)
        #expect(try third.opened(.features([shop]), from: .cursor(cursor)).read().names.contains("reset"))
        let now = try #require(try third.opened(.features([shop]), from: .now).read().last?.id)
        #expect(try !third.opened(.features([shop]), from: .cursor(now)).read().names.contains("reset"))
    }

    @Test("a state whose view changes with new code gets a new version")
    func otherView() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Shop.First())).made(.bearer)
        _ = try session.run(#"{"type":"add"}"#, on: shop).get()
        let version = try session.stateNow(of: shop).version
        let back = try lives.table(FeatureDefinition(Shop.ShownAnew())).live(token)
        #expect(try back.text(of: shop) == #"{"title":"1 items"}"#)
        #expect(try back.stateNow(of: shop).version == version + 1)
    }

    @Test("a store whose feature is removed is kept hidden, and is back when the feature is")
    func removedFeature() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Shop.First())).made(.bearer)
        _ = try session.run(#"{"type":"add"}"#, on: shop).get()
        let without = try lives.table(FeatureDefinition(Tally())).live(token)
        expectError(.featureNotFound) { try without.stateNow(of: shop) }
        #expect(try without.opened(.all, from: .unspecified).read().names == ["hello"])
        let back = try lives.table(FeatureDefinition(Shop.First())).live(token)
        #expect(try back.text(of: shop) == #"{"items":1}"#)
    }

    @Test("an ended session is remembered over a restart, and later forgotten")
    func tombstone() throws {
        let lives = Lives()
        let before = try lives.table(FeatureDefinition(Tally()))
        let (session, token) = try before.made(.bearer)
        try before.ended(session)
        let after = try lives.table(FeatureDefinition(Tally()))
        #expect(try after.isEnded(token))
        lives.time.advance(by: .seconds(24 * 3600 - 1))
        #expect(try after.isEnded(token))
        lives.time.advance(by: .seconds(602))
        guard case .unknown = try after.found(token) else {
            Issue.record("a tombstone is forgotten")
            return
        }
    }

    @Test("a session expires by its last use, even while no process runs")
    func expiryWhileAway() throws {
        let lives = Lives()
        let (session, token) = try lives.table(FeatureDefinition(Tally())).made(.bearer)
        #expect(try session.told(#"{"type":"add","amount":1}"#, to: try #require(FeatureID("tally"))) == "ran")
        lives.time.advance(by: .seconds(24 * 3600 - 1))
        let second = try lives.table(FeatureDefinition(Tally()))
        _ = try second.live(token)
        lives.time.advance(by: .seconds(2))
        _ = try second.live(token)
        lives.time.advance(by: .seconds(24 * 3600))
        #expect(try lives.table(FeatureDefinition(Tally())).isEnded(token))
    }
}

@Suite("Stores and sessions that leave memory (rules 52)")
struct PassivationTests {
    @Test("52: an unused store leaves memory and is loaded unchanged without visible effect")
    func passivation() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"shoutMany","texts":["a"]}"#)
        let before = try fixture.session.stateNow(of: fixture.tally)
        fixture.time.advance(by: .seconds(301))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.liveStoreCount == 0)
        #expect(fixture.session.storeIDs == [fixture.tally])
        #expect(try fixture.session.stateNow(of: fixture.tally) == before)
        #expect(fixture.table.liveStoreCount == 1)
        fixture.time.advance(by: .seconds(301))
        fixture.table.sweep(part: 1)
        // Other labels have expired by now; a label that lives for an hour would be shown.
        let events = try fixture.stream("tally").read()
        #expect(events.names == ["hello", "state"])
        #expect(try events[1].json.version == before.version)
        #expect(try fixture.send(#"{"type":"add","amount":1}"#).get().version == before.version + 1)
    }

    @Test("52: a store stays while a stream shows it, while its work runs, and shortly after its use")
    func stays() async throws {
        let gate = Gate()
        let fixture = try Fixture(gate: gate)
        let stream = try fixture.stream("tally")
        _ = try stream.read()
        fixture.time.advance(by: .seconds(301))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.liveStoreCount == 1, "a stream shows it")
        stream.stream.closed()
        try fixture.send(#"{"type":"load"}"#)
        fixture.time.advance(by: .seconds(301))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.liveStoreCount == 1, "its work runs")
        gate.open()
        let answer = Answer()
        _ = try fixture.table.live(fixture.token)
        fixture.session.send(
            IntentRequest(body: Array(#"{"type":"load"}"#.utf8), wait: .seconds(10)), to: fixture.tally
        ) { answer.set($0) }
        _ = try await answer.wait().get()
        fixture.time.advance(by: .seconds(299))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.liveStoreCount == 1, "it was used not long ago")
    }

    @Test("an unused session leaves memory completely, and is loaded on the next request")
    func eviction() throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"add","amount":5}"#, key: "k")
        fixture.time.advance(by: .seconds(700))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.count == 0)
        let back = try fixture.table.live(fixture.token)
        #expect(back !== fixture.session && back.id == fixture.session.id)
        #expect(try back.stateNow(of: fixture.tally).version == 2)
        #expect(fixture.table.count == 1)
        // A request with the old session object gets `evicted`.
        #expect(try fixture.send(#"{"type":"add","amount":1}"#).refusal == "evicted")
    }

    @Test("a session with an open stream does not leave memory and does not expire")
    func streaming() throws {
        let fixture = try Fixture { $0.sessionLife = .seconds(1_000) }
        let stream = try fixture.stream("tally")
        for _ in 0..<10 {
            fixture.time.advance(by: .seconds(500))
            fixture.table.sweep(part: 1)
        }
        #expect(fixture.table.count == 1 && !fixture.session.isEnded)
        _ = try stream.read()
    }

    @Test("expired sessions are removed from the journal, some at a time")
    func keptExpiry() throws {
        let journal = MemoryJournal()
        let fixture = try Fixture(journal: journal)
        try fixture.send(#"{"type":"add","amount":1}"#)
        fixture.time.advance(by: .seconds(700))
        fixture.table.sweep(part: 1)
        #expect(fixture.table.count == 0)
        fixture.time.advance(by: .seconds(2 * 24 * 3600))
        fixture.table.sweep(part: 1)
        let kept = Box<Bool>()
        journal.export(fixture.session.id) { kept.set((try? $0.get()) == nil) }
        #expect(kept.value == true)
        #expect(try fixture.table.isEnded(fixture.token))
    }

    @Test("concurrent requests for a session that is not in memory get the same one")
    func singleFlight() async throws {
        let fixture = try Fixture()
        try fixture.send(#"{"type":"add","amount":5}"#)
        for _ in 0..<20 {
            fixture.time.advance(by: .seconds(700))
            fixture.table.sweep(part: 1)
            let (table, token) = (fixture.table, fixture.token)
            let found = Lock<Set<ObjectIdentifier>>([])
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        // A request that comes during another one's load gets the result of that load.
                        table.find(token) { lookup in
                            if case .live(let session, _) = lookup {
                                found.withLock { _ = $0.insert(ObjectIdentifier(session)) }
                            }
                        }
                    }
                }
            }
            #expect(found.withLock { $0.count } == 1)
            #expect(fixture.table.count == 1)
        }
    }
}
