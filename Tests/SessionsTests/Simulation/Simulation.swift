import MVI
import MVITesting
import SessionJournal
import Sessions
import WireJSON

/// Some processes on one journal, and clients that use them, on one thread. The seed determines each step, so a failing
/// seed fails again.
final class Simulation {
    /// The kind of simulation.
    struct Setting: Sendable {
        var nodes = 1
        /// Always true with one process.
        var hasStreams = true
        /// True if processes restart with a newer build, which stores one feature's states in another form.
        var hasDeploys = false
    }

    /// The result of a run.
    struct Findings {
        /// Lost or doubled values.
        var faults: [String] = []
        /// Streams or versions in the wrong order.
        var orderFaults: [String] = []
    }

    /// One process's life.
    final class Node {
        /// The index of its build.
        let build: Int
        let journal: SimulatedJournal
        let executor = SteppedExecutor()
        let clock = ManualClock()
        let table: SessionTable

        init(
            _ kept: MemoryJournal, build: Int, _ features: FeatureRegistry, _ time: ManualTime, seed: UInt64,
            trouble: SimulatedJournal.Trouble
        ) {
            self.build = build
            journal = SimulatedJournal(kept, seed: seed, trouble: trouble)
            var limits = SessionLimits.patient
            limits.sessionLife = .seconds(1_000_000)
            table = SessionTable(
                environment: SessionEnvironment(
                    features: features, limits: limits, journal: journal, time: time.source, clock: clock,
                    executor: executor))
        }
    }

    private let builds: [FeatureRegistry]
    private let setting: Setting
    private var random: SplitMix
    private let kept = MemoryJournal()
    private let time = ManualTime()
    private var nodes: [Node] = []
    private var clients: [SimulatedClient] = []
    private let trouble: SimulatedJournal.Trouble
    private let intents: Int
    /// True if a task was repeated without end.
    private var isRestless = false

    /// Returns the features of the processes, the older build first.
    static func builds() throws -> [FeatureRegistry] {
        let keyed = try FeatureDefinition(keyed: { _, _ in KeyedLedger() })
        return [
            try FeatureRegistry([FeatureDefinition(Ledger()), keyed]),
            try FeatureRegistry([FeatureDefinition(NewerLedger()), keyed]),
        ]
    }

    init(_ builds: [FeatureRegistry], seed: UInt64, _ setting: Setting, clients: Int, intents: Int) throws {
        self.builds = builds
        self.setting = setting
        self.intents = intents
        random = SplitMix(seed: seed)
        trouble =
            switch random.next() % 4 {
            case 0: .none
            case 1: SimulatedJournal.Trouble(failure: 100)
            case 2: SimulatedJournal.Trouble(unknown: 100, conflict: 50)
            default: SimulatedJournal.Trouble(failure: 50, unknown: 50, conflict: 50)
            }
        for _ in 0..<setting.nodes { nodes.append(makeNode(build: 0)) }
        // Numbers are counted in memory: they are for clients that stay with one process.
        for index in 0..<clients { try makeClient(usesKeys: index % 3 != 2 || setting.nodes > 1) }
    }

    private func makeNode(build: Int) -> Node {
        Node(kept, build: build, builds[build], time, seed: random.next(), trouble: trouble)
    }

    /// The newest possible build.
    private var lastBuild: Int { setting.hasDeploys ? builds.count - 1 : 0 }

    private func makeClient(usesKeys: Bool) throws {
        // Sessions are created without faults; another test checks that they are stored.
        let (_, token) = try SessionTable(environment: plainEnvironment()).made(.bearer)
        let features = ["ledger", "keyed-ledger:a"].compactMap { FeatureID($0) }
        clients.append(
            SimulatedClient(token: token, features: features, usesKeys: usesKeys, hasManyNodes: setting.nodes > 1))
    }

    private func plainEnvironment() -> SessionEnvironment {
        SessionEnvironment(features: builds[lastBuild], journal: kept, time: time.source)
    }

    // MARK: Steps

    /// Runs the simulation and returns the findings.
    func run() throws -> Findings {
        let steps = 150 + Int(random.next() % 250)
        for _ in 0..<steps { step() }
        quiesce()
        let faults = try check() + (isRestless ? ["something is tried again for ever"] : [])
        return Findings(faults: clients.flatMap(\.faults) + faults, orderFaults: clients.flatMap(\.orderFaults))
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
        case 90..<94: if setting.hasStreams { openStream(client, on: node) }
        case 94..<96: client.hangUp()
        case 96..<98:
            // Long enough for unused sessions to leave memory.
            time.advance(by: .seconds(700))
            node.table.sweep(part: 1)
        default: crash(node)
        }
    }

    private func send(_ client: SimulatedClient, to node: Node) {
        guard let request = client.next(&random) else { return }
        let body = Array(#"{"type":"\#(request.type)","value":\#(request.number)}"#.utf8)
        node.table.find(client.token) { [inbox = client.inbox] found in
            guard case .live(let session, _) = found else {
                if case .failed = found { return inbox.put(.answer(request, .notThere)) }
                return inbox.put(.fault("the session is \(found)"))
            }
            session.send(
                IntentRequest(body: body, name: request.name), to: request.feature
            ) { inbox.put(.answer(request, $0)) }
        }
        client.receive()
    }

    private func openStream(_ client: SimulatedClient, on node: Node) {
        openStream(client, in: node.table, node: nodes.firstIndex { $0 === node } ?? nodes.count)
    }

    private func openStream(_ client: SimulatedClient, in table: SessionTable, node: Int) {
        guard let start = client.wantsStream() else { return }
        let life = client.life
        table.find(client.token) { [inbox = client.inbox] found in
            guard case .live(let session, _) = found else { return inbox.put(.stream(nil, node: node, life: life)) }
            session.openStream(.all, from: start) { result in
                inbox.put(.stream((try? result.get()).map { TestStream($0) }, node: node, life: life))
            }
        }
        client.receive()
    }

    private func crash(_ node: Node) {
        // Half of the crashes are deploys; no process returns to an older build.
        let isDeploy = setting.hasDeploys && random.next() % 2 == 0
        restart(node, build: isDeploy ? lastBuild : node.build)
    }

    private func restart(_ node: Node, build: Int) {
        node.journal.crash()
        guard let index = nodes.firstIndex(where: { $0 === node }) else { return }
        nodes[index] = makeNode(build: build)
        // With one process every client has lost its connection; with more, those that waited for this one, and clients
        // that cannot tell repeat too.
        for client in clients { client.disconnected(from: index) }
    }

    // MARK: The end

    /// Ends all faults and completes all pending tasks.
    private func quiesce() {
        // A deploy completes: no process of an older build remains.
        for node in nodes where node.build < lastBuild { restart(node, build: lastBuild) }
        for node in nodes { node.journal.heal() }
        for round in 0..<400 {
            for client in clients where setting.hasStreams {
                openStream(client, on: nodes[Int(random.next() % UInt64(nodes.count))])
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
        for _ in 0..<10_000 {
            var isBusy = false
            for node in nodes {
                while node.journal.work() { isBusy = true }
                while node.journal.tell() { isBusy = true }
                while node.executor.step(&random) { isBusy = true }
                if node.clock.sleeperCount > 0 {
                    node.clock.advance(by: .milliseconds(300))
                    isBusy = true
                }
            }
            if !isBusy { return }
        }
        isRestless = true
    }

    /// Checks the stored values against the answers to clients.
    private func check() throws -> [String] {
        var faults: [String] = []
        let table = SessionTable(environment: plainEnvironment())
        for client in clients {
            let session = try table.live(client.token)
            if setting.hasStreams, nodes.count > 1 {
                // A process that knows all commits: it sends the events that others did not.
                client.hangUp()
                openStream(client, in: table, node: nodes.count)
                for _ in 0..<20 { client.read() }
            }
            var said: Set<Int> = []
            for feature in client.features {
                let acknowledged = client.acknowledged[feature] ?? []
                guard !acknowledged.isEmpty else { continue }
                let state = try WireJSON.decode(Ledger.State.self, from: session.stateNow(of: feature).view)
                if state.entries.sorted() != acknowledged.sorted() {
                    faults.append("\(feature): acknowledged \(acknowledged.sorted()), kept \(state.entries)")
                }
                // A step of launched work has no receipt: with a second writer, a step of unknown outcome may have been
                // committed.
                let isDoubled = nodes.count == 1 && Set(state.worked).count != state.worked.count
                if isDoubled || !Set(state.worked).isSubset(of: acknowledged) {
                    faults.append("\(feature): work arrived as \(state.worked)")
                }
                if state.bootstraps != 1, nodes.count == 1 {
                    faults.append("\(feature): bootstrapped \(state.bootstraps) times as new")
                }
                said.formUnion(state.entries)
            }
            guard setting.hasStreams else { continue }
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

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) { if reason == .new { turn.dispatch(.began) } }

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
