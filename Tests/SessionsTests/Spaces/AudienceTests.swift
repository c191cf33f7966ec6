import EventStream
import JSONDelta
import Locking
import MVI
import Networks
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

@Suite("85: views for audiences")
struct AudienceTests {
    private let door = "door:inn"

    private func join(_ name: String) -> String { #"{"type":"join","name":"\#(name)","secret":"\#(name)-canary"}"# }
    private func note(_ text: String) -> String { #"{"type":"note","text":"\#(text)"}"# }

    private func host(_ fixture: SpaceFixture) async throws -> SpaceClient {
        try await fixture.user("hal", ["role": "host"])
    }

    private func view(_ snapshot: StateSnapshot) throws -> Door.ViewState {
        try WireJSON.decode(Door.ViewState.self, from: snapshot.view)
    }

    @Test("each client is shown the view of its audience by streams, reads and answers, and by nothing another's")
    func views() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob, hal) = (try fixture.guest(), try fixture.guest(), try await host(fixture))
        let readers = try [ann, bob, hal].map { try $0.stream(door) }
        for reader in readers { #expect(try reader.events().map(\.kind) == ["hello", "state door:inn"]) }
        let first = try ann.send(join("ann"), to: door).get()
        #expect(try first.state.map(view) == Door.ViewState(place: 1, parties: ["ann ann-canary"]))
        let second = try bob.send(join("bob"), to: door).get()
        #expect(try second.state.map(view) == Door.ViewState(place: 2, parties: ["bob bob-canary"]))
        _ = try hal.send(note("hal-canary"), to: door).get()
        for reader in readers { _ = try reader.events() }
        let texts = readers.map { String(decoding: $0.bytes, as: UTF8.self) }
        for (index, canary) in ["ann-canary", "bob-canary", "hal-canary"].enumerated() {
            #expect(texts.map { $0.contains(canary) } == [0, 1, 2].map { $0 == index || $0 == 2 }, "\(canary)")
        }
        #expect(try view(ann.snapshot(of: door).value!.get()) == Door.ViewState(place: 1, parties: ["ann ann-canary"]))
        #expect(try view(hal.snapshot(of: door).value!.get()).note == "hal-canary")
        let tags = try [ann, bob, hal].map { try $0.snapshot(of: door).value!.get().entityTag }
        #expect(Set(tags).count == 3)
        #expect(!texts.contains { $0.contains("null") && $0.contains(#""state":null"#) })
    }

    @Test("a client is sent nothing if its audience's view is the same, and its version and condition stay good")
    func equal() async throws {
        let fixture = try SpaceFixture()
        let (ann, hal) = (try fixture.guest(), try await host(fixture))
        _ = try ann.send(join("ann"), to: door).get()
        let (guest, staff) = (try ann.stream(door), try hal.stream(door))
        let shown = try #require(try guest.parsed().last?.number("version"))
        _ = try staff.parsed()
        let check = try ann.snapshot(of: door).value!.get().audience
        _ = try hal.send(note("full"), to: door).get()
        #expect(try guest.events().isEmpty)
        #expect(try staff.events().map(\.kind) == ["state door:inn"])
        #expect(try ann.snapshot(of: door).value!.get().audience == check)
        let staffAnswer = try hal.send(note("fuller"), to: door).get()
        _ = try hal.send(#"{"type":"call","text":"tea"}"#, to: door).get()
        // The stream has not shown the version of the label's turn.
        let label = try #require(try guest.parsed().last)
        #expect(label.name == "label" && label.number("version") == shown)
        #expect(try staff.parsed().first?.number("version") == staffAnswer.version)
        // A client waits for the version of its own answer.
        let again = try ann.send(#"{"type":"call","text":"tea"}"#, to: door).get()
        #expect(again.version > shown)
        let own = try guest.parsed()
        #expect(own.map(\.name) == ["state", "label"] && own[0].number("version")! >= again.version)
        _ = try ann.send(#"{"type":"leave"}"#, to: door, ifMatch: { $0.contains(shown) }).get()
        let refused = try ann.send(join("ann"), to: door, ifMatch: { $0.contains(shown) })
        #expect(refused.refusal == "preconditionFailed")
    }

    @Test("a condition on the state is compared with what earlier turns of the same batch left")
    func batch() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let made = try ann.send(join("ann"), to: door).get()
        let space = try fixture.space(door)
        // One batch: the first of these turns enqueues the second.
        let second = Box<Result<IntentOutcome, StoreError>>()
        let feature = try #require(FeatureID(door))
        let send: @Sendable (String) -> Void = { body in
            space.send(
                IntentRequest(
                    body: Array(body.utf8), ifMatch: { $0.contains(made.version) }, client: ann.client), to: feature
            ) { second.set($0) }
        }
        let leave = #"{"type":"leave"}"#
        space.enqueue(
            FunctionJob(.server) { job in
                send(leave)
                send(leave)
                space.drop(job)
            })
        #expect(second.value?.refusal == "preconditionFailed")
    }

    @Test("changes are patches between views of the audience", arguments: DeltaForm.allCases)
    func patches(form: DeltaForm) async throws {
        let fixture = try SpaceFixture()
        let (ann, hal) = (try fixture.guest(), try await host(fixture))
        for name in ["long-name-one", "long-name-two", "long-name-three"] {
            _ = try ann.send(join(name), to: door).get()
        }
        let (guest, staff) = (try ann.stream(door, delta: form), try hal.stream(door, delta: form))
        let shown = try #require(try guest.parsed().last?.number("version"))
        _ = try staff.parsed()
        _ = try hal.send(note("host-canary"), to: door).get()
        _ = try ann.send(join("long-name-four"), to: door).get()
        let events = try guest.parsed()
        #expect(events.map(\.name) == ["patch"])
        #expect(events.first?.number("from") == shown)
        #expect(try staff.parsed().map(\.name) == ["patch"])
        #expect(!String(decoding: guest.bytes, as: UTF8.self).contains("host-canary"))
    }

    @Test("clients of one audience share the bytes of a step")
    func shared() async throws {
        let fixture = try SpaceFixture()
        let hal = try await host(fixture)
        let readers = [try hal.stream(door), try await host(fixture).stream(door)]
        for reader in readers { _ = try reader.events() }
        _ = try hal.send(note("full"), to: door).get()
        let texts = try readers.map { try $0.events() }
        #expect(texts[0] == texts[1] && texts[0].map(\.kind) == ["state door:inn"])
        let space = try fixture.space(door)
        #expect(space.core.withLock { $0.streams.lastStep?.seen.count } == 1)
    }

    @Test("a changed claim shows the new audience's whole view and nothing of another before it")
    func renewed() async throws {
        let fixture = try SpaceFixture()
        let hal = try await fixture.user("hal", ["role": "guest"])
        _ = try hal.send(note("host-canary"), to: door).get()
        let reader = try hal.stream(door, delta: .mergePatch)
        _ = try reader.parsed()
        let credential = try #require(hal.credential)
        func become(_ role: ClaimValue) async throws {
            let principal = Principal(issuer: "i", subject: "hal", claims: ["role": role])
            _ = try await fixture.table.identify(hal.session, hal.token, credential, as: principal, proof: []).get()
        }
        let wakes = reader.wakes
        try await become("host")
        #expect(reader.wakes > wakes)
        let promoted = try reader.parsed()
        #expect(promoted.map(\.name) == ["state"] && promoted[0].text.contains("host-canary"))
        try await become("guest")
        let demoted = try reader.parsed()
        #expect(demoted.map(\.name) == ["state"] && !demoted[0].text.contains("host-canary"))
        #expect(demoted[0].number("version")! >= promoted[0].number("version")!)
        _ = try hal.send(note("later-canary"), to: door).get()
        _ = try reader.events()
        #expect(!String(decoding: reader.bytes, as: UTF8.self).contains("later-canary"))
    }

    @Test("a changed claim shows the new audience in each of a stream's spaces")
    func renewedParts() async throws {
        let fixture = try SpaceFixture()
        let hal = try await fixture.user("hal", ["role": "guest"])
        for place in ["door:inn", "door:bar"] { _ = try hal.send(note("host-canary"), to: place).get() }
        let reader = try hal.stream("door:inn", "door:bar")
        _ = try reader.parsed()
        let principal = Principal(issuer: "i", subject: "hal", claims: ["role": "host"])
        _ = try await fixture.table.identify(hal.session, hal.token, hal.credential, as: principal, proof: []).get()
        let events = try reader.events()
        #expect(events.map(\.kind).sorted() == ["state door:bar", "state door:inn"])
        #expect(events.allSatisfy { $0.contains("host-canary") })
    }

    @Test("a waiting read is answered when the view of its audience changes")
    func waits() async throws {
        let fixture = try SpaceFixture()
        let (ann, hal) = (try fixture.guest(), try await host(fixture))
        let known = try ann.snapshot(of: door).value!.get()
        let waiting = try ann.snapshot(of: door, wait: .seconds(20)) { $0.audience != known.audience }
        _ = try hal.send(note("full"), to: door).get()
        #expect(waiting.value == nil)
        _ = try ann.send(join("ann"), to: door).get()
        #expect(try waiting.value.map { try view($0.get()).place } == 1)
    }

    @Test("a state that comes back after a restart is shown to audiences again")
    func restart() async throws {
        let kept = MemoryJournal()
        let before = try SpaceFixture(journal: kept)
        let ann = try before.guest()
        _ = try ann.send(join("ann"), to: door).get()
        let fixture = try SpaceFixture(journal: kept)
        guard case .live(let session, let credential) = try fixture.table.found(ann.token) else {
            throw SessionTable.NotLive()
        }
        let again = SpaceClient(fixture: fixture, session: session, token: ann.token, credential: credential)
        let events = try again.stream(door).parsed()
        #expect(events.last?.text.contains("ann-canary") == true)
        #expect(try !fixture.guest().stream(door).parsed().last!.text.contains("canary"))
    }

    @Test("every node shows a client the version that another one answered, though the view is the same")
    func elsewhere() async throws {
        let pair = try SpacePair()
        let (ann, hal) = (try pair.here.guest(), try await host(pair.here))
        _ = try ann.send(join("ann"), to: door).get()
        pair.pass(1)
        let there = try pair.moved(ann, to: pair.there)
        let reader = try there.stream(door)
        _ = try reader.parsed()
        _ = try hal.send(note("host-canary"), to: door).get()
        let answer = try ann.send(#"{"type":"call","text":"tea"}"#, key: "k", to: door).get()
        pair.pass(1)
        let state = try #require(try reader.parsed().first { $0.name == "state" })
        #expect(state.number("version")! >= answer.version)
        #expect(!String(decoding: reader.bytes, as: UTF8.self).contains("host-canary"))
    }

    @Test("at most 1,024 audiences watch a store; one that leaves makes room")
    func limit() throws {
        let fixture = try SpaceFixture()
        var readers: [BundleReader] = []
        for _ in 0..<AudienceBook.most { readers.append(try fixture.guest().stream(door)) }
        let late = try fixture.guest()
        #expect(throws: StoreError.self) { try late.stream(door) }
        _ = try late.snapshot(of: door).value!.get()
        readers.removeLast()
        let joined = try late.stream(door)
        #expect(try joined.events().map(\.kind) == ["hello", "state door:inn"])
    }

    @Test("a stream whose client becomes one of too many audiences ends")
    func noRoom() async throws {
        let fixture = try SpaceFixture()
        let hal = try await fixture.user("hal", ["role": "guest"])
        let reader = try hal.stream(door)
        _ = try reader.events()
        let book = try #require(fixture.space(door).core.withLock { $0.stores[FeatureID("door:inn")!]?.shown?.book })
        let others = (1..<AudienceBook.most).compactMap { AudienceUse(book, AudienceKey($0)) }
        let principal = Principal(issuer: "i", subject: "hal", claims: ["role": "host"])
        _ = try await fixture.table.identify(hal.session, hal.token, hal.credential, as: principal, proof: []).get()
        let events = try reader.events()
        #expect(events.map(\.kind) == ["goaway"] && reader.isOver)
        withExtendedLifetime(others) {}
    }

    @Test("85: of the audiences that watch a store, those of the network with most of them make room for others'")
    func networks() throws {
        let fixture = try SpaceFixture()
        let reader = try fixture.guest().stream(door)
        let book = try #require(fixture.space(door).core.withLock { $0.stores[FeatureID("door:inn")!]?.shown?.book })
        let ended = Lock(0)
        let (crowded, other) = (try #require(PeerAddress("192.0.2.1")), try #require(PeerAddress("198.51.100.1")))
        var crowd = (0..<2_000).compactMap { number in
            AudienceUse(book, AudienceKey(number), from: crowded) { ended.withLock { $0 += 1 } }
        }
        #expect(crowd.count > AudienceBook.most / 2 && crowd.count < AudienceBook.most)
        // A stream more of an audience that has its place.
        let again = AudienceUse(book, AudienceKey(0), from: crowded)
        let others = (0..<300).compactMap { number in
            let use = AudienceUse(book, AudienceKey("other \(number)"), from: other)
            crowd.removeLast(
                ended.withLock { count in
                    defer { count = 0 }
                    return count
                })
            return use
        }
        #expect(others.count == 300 && again != nil)
        crowd = []
        let last = (0..<2_000).compactMap { AudienceUse(book, AudienceKey($0), from: crowded) }
        #expect(last.count > AudienceBook.most / 2)
        withExtendedLifetime((reader, again, others)) {}
    }

    @Test("beyond 64 audiences changes are shown together, ten times a second")
    func crowd() async throws {
        let fixture = try SpaceFixture()
        let readers = try (0...AudienceBook.crowd).map { _ in try fixture.guest().stream(door) }
        for reader in readers { _ = try reader.events() }
        let book = try #require(fixture.space(door).core.withLock { $0.stores[FeatureID("door:inn")!]?.shown?.book })
        let now = fixture.time.source.monotonic() + .seconds(1)
        #expect(book.changed(now: now) == .now)
        #expect(book.changed(now: now + .milliseconds(30)) == .later(.milliseconds(70)))
        #expect(book.changed(now: now + .seconds(2)) == .withEarlier)
        book.showsPostponed(now: now + .seconds(2))
        #expect(book.changed(now: now + .seconds(2)) == .later(.milliseconds(100)))
    }

    @Test("an older state is not shown after a newer one, and equal views keep the oldest version")
    func order() throws {
        let state = Lock(0)
        let book = AudienceBook(
            audience: { _ in AudienceKey(1) }, capture: { _ in state.withLock { $0 } },
            encode: { state, _ throws(StoreError) in Array("\((state as? Int ?? 0) / 2)".utf8) })
        func shown(_ value: Int, epoch: String = "e") -> ShownState {
            state.withLock { $0 = value }
            return ShownState(book, number: UInt64(value), version: UInt64(value), epoch: epoch)
        }
        let key = AudienceKey(1)
        let states = (0..<6).map { shown($0) }
        #expect(try book.view(of: states[2], for: key).versions == 2...2)
        #expect(try book.view(of: states[3], for: key).versions == 2...3)
        #expect(try book.view(of: states[5], for: key).versions == 5...5)
        #expect(try book.view(of: states[4], for: key).versions == 5...5)
        #expect(try book.view(of: shown(1, epoch: "f"), for: key).versions == 1...1)
    }

    @Test("what cannot be written as JSON is told in the log, shown to nobody, and holds nothing else up")
    func broken() async throws {
        struct Odd: Feature {
            struct State: Codable, Equatable, Sendable { var count = 0 }
            enum Intent: Codable, Sendable { case add }
            enum Message: Codable, Sendable { case added }
            enum Label: Codable, Equatable, Sendable { case said }
            enum Audience: Hashable, Sendable { case all }
            struct ViewState: Codable, Equatable, Sendable { var ratio: Double }
            static let examples: [Intent] = [.add]
            static let labelExamples: [Label] = [.said]
            let initialState = State()
            func audience(of viewer: Viewer) -> Audience { .all }
            func view(_ state: State) -> ViewState { ViewState(ratio: 0) }
            func view(_ state: State, for audience: Audience) -> ViewState {
                ViewState(ratio: state.count == 1 ? .nan : Double(state.count))
            }
            func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
                turn.dispatch(.added)
                turn.publish(.said)
            }
            func reduce(_ state: inout State, _ message: Message) { state.count += 1 }
        }
        let features = try FeatureRegistry([FeatureDefinition(Odd())])
        let table = SessionTable(
            environment: SessionEnvironment(features: features, limits: .patient, time: ManualTime().source))
        let session = try table.made(.bearer).0
        let odd = FeatureID("odd")!
        let opened = Box<Result<SessionStream, StoreError>>()
        session.openStream(.features([odd]), from: .now) { opened.set($0) }
        let stream = try #require(opened.value).get()
        defer { stream.closed() }
        var parser = EventParser()
        func events() throws -> [ParsedEvent] {
            switch stream.nextStep() {
            case .write(let bytes), .writeAll(let bytes): return try parser.feed(bytes) + events()
            case .finish, .wait: return []
            }
        }
        #expect(try events().last?.text.contains(#""ratio":0"#) == true)
        for _ in 0..<2 {
            let answer = Box<Result<IntentOutcome, StoreError>>()
            session.send(IntentRequest(body: Array(#"{"type":"add"}"#.utf8)), to: odd) { answer.set($0) }
            let outcome = try #require(answer.value).get()
            // The view that cannot be shown is left out of the answer, too.
            #expect(outcome.isWithheld == (outcome.version == 2) && (outcome.state == nil) == outcome.isWithheld)
            let names = try events().map(\.name)
            #expect(names == (session.core.withLock { $0.head.number } == 2 ? ["label"] : ["state", "label"]))
        }
    }
}

extension ParsedEvent {
    /// A member of the event's data.
    fileprivate func number(_ member: String) -> UInt64? {
        text.firstRange(of: "\"\(member)\":").flatMap { UInt64(text[$0.upperBound...].prefix { $0.isNumber }) }
    }
}
