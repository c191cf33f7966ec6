import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// A packet. What its start does is in a plan, by key.
private struct Packet: Feature {
    struct Plan {
        /// The boxes that its start reads, and those that it puts something into, each with those that this goes on to.
        var reads: [String] = []
        var puts: [[String]] = []
    }

    struct State: Codable, Equatable, Sendable {
        var items = 0
        /// The number of its starts that were committed.
        var starts = 0
        var failures = 0
    }

    enum Intent: Codable, Sendable {
        case put(rest: [String])
        case go(reads: [String], puts: [[String]])
    }

    enum Message: Sendable {
        case put
        case started
        case failed
    }

    static let examples: [Intent] = [.put(rest: []), .go(reads: [], puts: [])]
    static var name: String { "packet" }
    /// The key of the box that refuses everything.
    static let closed = "no"
    /// The key of the box whose intents throw, and whose failure turns put something into another one of these.
    static let broken = ["x", "y"]
    struct Broken: Error {}

    let initialState = State()
    let key: String
    let plan: Plan
    let restored: Collected<Int>

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws {
        for read in plan.reads { restored.append(try turn.view(of: Packet.self, key: read).starts) }
        turn.dispatch(.started)
        send(plan.puts, &turn)
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        guard key != Self.closed else { throw Refusal(.conflict, code: "closed", "It is closed.") }
        guard !Self.broken.contains(key) else { throw Broken() }
        switch intent {
        case .put(let rest):
            turn.dispatch(.put)
            if !rest.isEmpty { send([rest], &turn) }
        case .go(let reads, let puts):
            for read in reads { _ = try turn.view(of: Packet.self, key: read) }
            send(puts, &turn)
        }
    }

    private func send(_ puts: [[String]], _ turn: inout Turn<Self>) {
        for put in puts { turn.send(.put(rest: Array(put.dropFirst())), to: Packet.self, key: put[0]) }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {
        turn.dispatch(.failed)
        if let other = Self.broken.first(where: { $0 != key }), Self.broken.contains(key) {
            turn.send(.put(rest: []), to: Packet.self, key: other)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .put: state.items += 1
        case .started: state.starts += 1
        case .failed: state.failures += 1
        }
    }
}

/// A session of boxes, and what they must hold.
private final class Boxes {
    let kept = MemoryJournal()
    let journal: HeldJournal
    let session: Session
    let plans: [String: Packet.Plan]
    let reads = Collected<Int>()
    let reports = Collected<String>()
    /// The puts of the intents that were answered as run.
    private(set) var ran: [[String]] = []
    private let table: SessionTable

    init(_ plans: [String: Packet.Plan]) throws {
        self.plans = plans
        journal = HeldJournal(kept)
        let (reads, reports) = (reads, reports)
        table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([
                    FeatureDefinition(keyed: { key, _ in
                        Packet(key: key, plan: plans[key] ?? Packet.Plan(), restored: reads)
                    })
                ]), limits: .patient, journal: journal, time: ManualTime().source, clock: ManualClock(),
                report: {
                    if case .failure(let failure, let place) = $0 {
                        reports.append("\(place.instance): \(failure.error)")
                    }
                }
            ))
        session = try table.made(.bearer).session
    }

    static func feature(_ key: String) -> FeatureID { FeatureID(name: Packet.name, key: key) }

    @discardableResult
    func go(_ key: String, reads: [String] = [], _ puts: [[String]], isHeld: Bool = false) throws -> String {
        if isHeld { journal.holdStores() }
        let body = try WireJSON.encode(Packet.Intent.go(reads: reads, puts: puts))
        let answer = session.send(String(decoding: body, as: UTF8.self), to: Self.feature(key))
        if isHeld { journal.releaseLoads() }
        let told = try #require(answer.value, "the answer was to come at once").told
        if told == "ran" { ran += puts }
        return told
    }

    func state(_ key: String) throws -> Packet.State {
        try WireJSON.decode(Packet.State.self, from: try session.stateNow(of: Self.feature(key)).view)
    }

    /// The boxes as the journal has them.
    func stored() async throws -> [String: Packet.State] {
        guard let key = session.core.withLock({ $0.key }) else { return [:] }
        let features = session.core.withLock { $0.stores.map(\.feature) }
        let hash = session.tokenHash
        let found = try await awaitResult { [kept] in kept.loadStores(features, of: key, named: hash, done: $0) }.get()
        return try found.stores.reduce(into: [:]) { all, stored in
            all[stored.summary.feature.key ?? ""] = try WireJSON.decode(Packet.State.self, from: stored.state)
        }
    }

    /// Compares the boxes with what was put into them, and those of the journal with those that clients see.
    func expectRight(_ note: String = "", _ source: Testing.SourceLocation = #_sourceLocation) async throws {
        let stored = try await stored()
        let starts = stored.flatMap { key, state in
            [[[String]]](repeating: plans[key]?.puts ?? [], count: state.starts).flatMap { $0 }
        }
        var expected: [String: Int] = [:]
        for key in (ran + starts).flatMap({ $0 }) { expected[key, default: 0] += 1 }
        for (key, state) in stored {
            #expect(state.items == expected[key] ?? 0, "\(key) \(note)", sourceLocation: source)
            let feature = Self.feature(key)
            if let shown = session.existingState(of: feature) {
                let view = try WireJSON.decode(Packet.State.self, from: shown.view)
                #expect(view == state, "\(key) \(note)", sourceLocation: source)
            }
        }
    }
}

@Suite("2, 58: starts and chains")
struct StartTests {
    @Test(
        "2, 58: what a start puts into a store of the chain that needs it is kept beside the chain's own",
        arguments: [false, true])
    func startInChain(isRestored: Bool) async throws {
        let boxes = try Boxes(["guest": Packet.Plan(puts: [["basket"]])])
        try boxes.go("host", [["basket"]])
        if isRestored {
            try boxes.go("host", [["guest"]])
            #expect(boxes.session.passivate(Boxes.feature("guest")) == [])
        }
        #expect(try boxes.go("host", [["basket"], ["guest"]]) == "ran")
        try await boxes.expectRight()
        #expect(try boxes.state("basket").items == (isRestored ? 4 : 3))
        #expect(try boxes.go("host", [["basket"]]) == "ran")
        try await boxes.expectRight()
    }

    @Test("58: a refused chain leaves nothing, and the store that was created for it stays")
    func refusedAfterStart() async throws {
        let boxes = try Boxes(["guest": Packet.Plan(puts: [["basket"]])])
        try boxes.go("host", [["basket"]])
        #expect(try boxes.go("host", [["basket"], ["guest"], [Packet.closed]]) != "ran")
        try await boxes.expectRight()
        // One of the first intent, and one of the start.
        #expect(try boxes.state("basket").items == 2)
        #expect(try boxes.state("guest") == Packet.State(items: 0, starts: 1))
    }

    @Test("8, 58: a chain's change is kept if the start of a store that it needs is refused")
    func refusedStart() async throws {
        let boxes = try Boxes(["guest": Packet.Plan(puts: [["basket"], [Packet.closed]])])
        #expect(try boxes.go("host", [["basket"], ["guest"]]) == "ran")
        #expect(try boxes.state("guest") == Packet.State(items: 1, starts: 0, failures: 1))
        #expect(try boxes.go("host", [["basket"]]) == "ran")
        try await boxes.expectRight()
        #expect(try boxes.state("basket").items == 2)
    }

    @Test("2: a start that sends to a store whose start reads it runs after that one")
    func readCycle() async throws {
        let boxes = try Boxes(["a": Packet.Plan(reads: ["b"]), "b": Packet.Plan(puts: [["a"]])])
        #expect(try boxes.go("host", [["a"]]) == "ran")
        try await boxes.expectRight()
        // The start of b waited for a's, which read it as it was before its own.
        #expect(boxes.reads.all == [0])
        #expect(try boxes.state("a") == Packet.State(items: 2, starts: 1))
        #expect(try boxes.state("b") == Packet.State(items: 0, starts: 1))
    }

    @Test("2: starts that send to each other fail once, and their stores answer")
    func sendCycle() async throws {
        let boxes = try Boxes(["a": Packet.Plan(puts: [["b"]]), "b": Packet.Plan(puts: [["a"]])])
        #expect(try boxes.go("host", [["a"]]) == "ran")
        try await boxes.expectRight()
        #expect(boxes.reports.all.count == 1)
        #expect(boxes.reports.all.first?.contains("waits for itself") == true)
        #expect(try boxes.state("a").starts + boxes.state("b").starts == 1)
        #expect(try boxes.go("host", [["b"], ["a"]]) == "ran")
        try await boxes.expectRight()
    }

    @Test("68: failure turns that fail each other's end")
    func failureCycle() async throws {
        let boxes = try Boxes([:])
        #expect(try boxes.go("host", [["x"]]) != "ran")
        #expect(boxes.reports.all.count >= 2)
        #expect(try boxes.go("host", [["a"]]) == "ran")
        try await boxes.expectRight()
    }

    @Test(
        "58: random chains and starts leave each box with what was put into it", arguments: Seeds.list(from: 9_000_000))
    func random(seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        let keys = ["a", "b", "c", "d", Packet.closed]
        func some(_ most: Int) -> [String] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in keys[Int.random(in: 0..<5, using: &random)] }
        }
        func puts(_ most: Int) -> [[String]] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in
                let path = some(3)
                return path.isEmpty ? ["a"] : path
            }
        }
        var plans: [String: Packet.Plan] = [:]
        for key in keys { plans[key] = Packet.Plan(reads: some(2), puts: puts(2)) }
        let boxes = try Boxes(plans)
        for _ in 0..<30 {
            let key = keys[Int.random(in: 0..<5, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0: _ = boxes.session.passivate(Boxes.feature(key))
            case 1: _ = try? boxes.state(key)
            default: _ = try boxes.go("host", reads: some(2), puts(3), isHeld: .random(using: &random))
            }
        }
        try await boxes.expectRight("seed \(seed)")
    }
}
