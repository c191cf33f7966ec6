import MVI
import MVITesting
import SessionJournal
import Sessions
import WireJSON

/// Some processes over one journal, and clients that use them, on one thread: what happens next is decided by a number
/// that the seed gives, so that a seed that fails fails again.
final class Simulation {
    /// One process's life.
    final class Node {
        let journal: SimulatedJournal
        let executor = SteppedExecutor()
        let clock = ManualClock()
        let table: SessionTable

        init(
            _ kept: MemoryJournal, _ features: FeatureRegistry, _ time: ManualTime, seed: UInt64,
            trouble: SimulatedJournal.Trouble
        ) {
            journal = SimulatedJournal(kept, seed: seed, trouble: trouble)
            var limits = SessionLimits()
            limits.sessionLife = .seconds(1_000_000)
            table = SessionTable(
                environment: SessionEnvironment(
                    features: features, limits: limits, journal: journal, time: time.source, clock: clock,
                    executor: executor))
        }
    }

    private let features: FeatureRegistry
    private var random: SplitMix
    private let kept = MemoryJournal()
    private let time = ManualTime()
    private var nodes: [Node] = []
    private var clients: [SimulatedClient] = []
    private let trouble: SimulatedJournal.Trouble
    private let intents: Int

    /// What the processes serve.
    static func features() throws -> FeatureRegistry {
        try FeatureRegistry([FeatureDefinition(Ledger()), FeatureDefinition(keyed: { _ in KeyedLedger() })])
    }

    /// - Parameter nodes: with more than one no client opens a stream: nothing tells one process yet what another shows.
    init(_ features: FeatureRegistry, seed: UInt64, nodes count: Int, clients: Int, intents: Int) throws {
        self.features = features
        self.intents = intents
        random = SplitMix(seed: seed)
        trouble =
            switch random.next() % 4 {
            case 0: .none
            case 1: SimulatedJournal.Trouble(failure: 100)
            case 2: SimulatedJournal.Trouble(unknown: 100, conflict: 50)
            default: SimulatedJournal.Trouble(failure: 50, unknown: 50, conflict: 50)
            }
        for _ in 0..<count { nodes.append(makeNode()) }
        // Numbers are counted in memory: they are for clients that stay with one process.
        for index in 0..<clients { try makeClient(usesKeys: index % 3 != 2 || count > 1) }
    }

    private func makeNode() -> Node { Node(kept, features, time, seed: random.next(), trouble: trouble) }

    private func makeClient(usesKeys: Bool) throws {
        // Sessions are made while nothing goes wrong; that they are kept is a test of its own.
        let (_, token) = try SessionTable(environment: plainEnvironment()).made(.bearer)
        let features = ["ledger", "keyed-ledger:a"].compactMap { FeatureID($0) }
        clients.append(SimulatedClient(token: token, features: features, usesKeys: usesKeys))
    }

    private func plainEnvironment() -> SessionEnvironment {
        SessionEnvironment(features: features, journal: kept, time: time.source)
    }

    // MARK: Steps

    /// Runs it and returns what went wrong.
    func run() throws -> [String] {
        let steps = 150 + Int(random.next() % 250)
        for _ in 0..<steps { step() }
        quiesce()
        return clients.flatMap(\.faults) + (try check())
    }

    private func step() {
        let node = nodes[Int(random.next() % UInt64(nodes.count))]
        let client = clients[Int(random.next() % UInt64(clients.count))]
        for client in clients { client.receive() }
        switch random.next() % 100 {
        case 0..<15: client.intend(&random, limit: intents)
        case 15..<30: send(client, to: node)
        case 30..<50: _ = node.journal.work()
        case 50..<70: _ = node.journal.tell()
        case 70..<78: _ = node.executor.step(&random)
        case 78..<82: node.clock.advance(by: .milliseconds(60))
        case 82..<90: client.read()
        case 90..<94: if nodes.count == 1 { openStream(client, on: node) }
        case 94..<96: client.hangUp()
        case 96..<98:
            // Long enough for what is not used to leave memory.
            time.advance(by: .seconds(700))
            node.table.sweep(part: 1)
        default: crash(node)
        }
    }

    private func send(_ client: SimulatedClient, to node: Node) {
        guard let request = client.next(&random) else { return }
        let body = Array(#"{"type":"\#(request.type)","value":\#(request.number)}"#.utf8)
        node.table.find(client.token) { [inbox = client.inbox] found in
            guard case .live(let session) = found else {
                if case .failed = found { return inbox.put(.answer(request, .failure(.store(.evicted)))) }
                return inbox.put(.fault("the session is \(found)"))
            }
            session.accept(
                IntentRequest(body: body, name: request.name), for: request.feature, lastWord: { _ in nil }
            ) { inbox.put(.answer(request, $0)) }
        }
        client.receive()
    }

    private func openStream(_ client: SimulatedClient, on node: Node) {
        guard let start = client.wantsStream() else { return }
        let life = client.life
        node.table.find(client.token) { [inbox = client.inbox] found in
            guard case .live(let session) = found else { return inbox.put(.stream(nil, life: life)) }
            session.openStream(.all, from: start) { result in
                inbox.put(.stream((try? result.get()).map { TestStream($0) }, life: life))
            }
        }
        client.receive()
    }

    private func crash(_ node: Node) {
        node.journal.crash()
        guard let index = nodes.firstIndex(where: { $0 === node }) else { return }
        nodes[index] = makeNode()
        // With one process every client has lost its connection; with more, those who waited for this one have, and
        // whoever cannot tell repeats as well.
        for client in clients { client.disconnected() }
    }

    // MARK: The end

    /// Heals everything and lets all that is under way come to its end.
    private func quiesce() {
        for node in nodes { node.journal.heal() }
        for round in 0..<400 {
            for client in clients where nodes.count == 1 {
                if let node = nodes.first { openStream(client, on: node) }
            }
            for client in clients { for node in nodes { send(client, to: node) } }
            settle()
            for client in clients {
                client.receive()
                for _ in 0..<8 { client.read() }
            }
            if round > 3, clients.allSatisfy({ $0.open.isEmpty }) { break }
        }
        for client in clients {
            for _ in 0..<20 { client.read() }
            if !client.open.isEmpty { client.gaveUp() }
        }
    }

    private func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for node in nodes {
                while node.journal.work() { isBusy = true }
                while node.journal.tell() { isBusy = true }
                while node.executor.step(&random) { isBusy = true }
                if node.clock.sleeperCount > 0 {
                    node.clock.advance(by: .milliseconds(300))
                    isBusy = true
                }
            }
        }
    }

    /// Holds what is kept against what the clients were told.
    private func check() throws -> [String] {
        var faults: [String] = []
        let table = SessionTable(
            environment: SessionEnvironment(
                features: features, journal: kept, time: time.source))
        for client in clients {
            let session = try table.live(client.token)
            var said: Set<Int> = []
            for feature in client.features {
                let acknowledged = client.acknowledged[feature] ?? []
                guard !acknowledged.isEmpty else { continue }
                let state = try WireJSON.decode(Ledger.State.self, from: session.stateNow(of: feature).view)
                if state.entries.sorted() != acknowledged.sorted() {
                    faults.append("\(feature): acknowledged \(acknowledged.sorted()), kept \(state.entries)")
                }
                // A step of launched work has no receipt: with a second writer on top of it nobody can tell whether one
                // of which the outcome is unknown was committed.
                let isDoubled = nodes.count == 1 && Set(state.worked).count != state.worked.count
                if isDoubled || !Set(state.worked).isSubset(of: acknowledged) {
                    faults.append("\(feature): work arrived as \(state.worked)")
                }
                if state.bootstraps != 1, nodes.count == 1 {
                    faults.append("\(feature): bootstrapped \(state.bootstraps) times as new")
                }
                said.formUnion(state.entries)
            }
            guard nodes.count == 1 else { continue }
            let values = Array(client.labels.values)
            if Set(values).count != values.count { faults.append("a label has two ids: \(client.labels)") }
            if !Set(values).isDisjoint(with: client.failed) { faults.append("a label of a turn that was undone") }
            let missing = client.expectedLabels(among: said).subtracting(values)
            if !missing.isEmpty { faults.append("labels never arrived: \(missing.sorted())") }
        }
        return faults
    }
}

/// The same feature with a key.
struct KeyedLedger: Feature {
    typealias State = Ledger.State
    typealias Intent = Ledger.Intent
    typealias Message = Ledger.Message
    typealias Label = Ledger.Label
    static let name = "keyed-ledger"
    static let examples = Ledger.examples
    static let labelExamples = Ledger.labelExamples
    private let ledger = Ledger()
    var initialState: State { ledger.initialState }

    func bootstrap(_ life: Life, _ turn: inout Turn<Self>) { if life == .new { turn.dispatch(.began) } }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .enter(let number): turn.dispatch(.entered(number))
        case .say(let number):
            turn.dispatch(.entered(number))
            turn.publish(.said(number))
        case .work(let number):
            turn.dispatch(.entered(number))
            turn.launch { work in await work.dispatch(.worked(number)) }
        case .fail: throw Ledger.Broken()
        }
    }

    func timeToLive(of label: Label) -> Duration { ledger.timeToLive(of: label) }

    func reduce(_ state: inout State, _ message: Message) { ledger.reduce(&state, message) }
}
