import EventStream
import MVI
import SessionJournal
import TestSupport
import WireJSON

@testable import Sessions

/// Three nodes that share one journal, five spaces, and twenty callers that use any node, on one thread. The seed
/// determines each step, so a failing seed fails again.
final class SpaceSimulation: NodeWorld {
    private let features: FeatureRegistry
    var random: SplitMix
    private let kept = MemoryJournal()
    private let cluster = NodeJournal.Cluster()
    let network = NodeNetwork()
    private let log: SpaceLog
    private let losesCommits: Bool
    var now: Duration = .zero
    var time: Box<Duration> { log.time }
    private(set) var nodes: [NodeProcess] = []
    private var lastLife = 0
    private var callers: [SpaceCaller] = []
    var users: [SpaceCaller] { callers }
    private let spaces: [FeatureID]
    private var snapshots: [(feature: FeatureID, kept: MemorySnapshot, known: SpaceLog.Space)] = []
    private var setbacks = 0
    private let loss: UInt64
    private let isSlow: Bool
    private let isForgetful: Bool
    private var isHealing = false
    private static let start: Duration = .seconds(1_700_000_000)

    var story: [String] { log.story }

    /// The features of all nodes: boards whose keys begin with `s` are for users.
    static func features() throws -> FeatureRegistry {
        let rule: AccessRule = { who, key, access in
            access != .dispose && (key?.hasPrefix("s") != true || who != nil)
        }
        return try FeatureRegistry([
            FeatureDefinition(rule: rule, spaces: SpaceGroup("board", isKeyed: true)) { _, _ in Board() },
            FeatureDefinition(rule: rule, spaces: SpaceGroup("parted", isKeyed: true)) { _, _ in Parted() },
        ])
    }

    init(_ features: FeatureRegistry, seed: UInt64, losesCommits: Bool) {
        (self.features, self.losesCommits) = (features, losesCommits)
        random = SplitMix(seed: seed)
        log = SpaceLog(kept)
        loss = [0, 0, 20, 80][Int(random.next() % 4)]
        isSlow = random.next() % 2 == 0
        isForgetful = random.next() % 2 == 0
        spaces = ["board:a", "board:b", "parted:c", "board:s1", "parted:s2"].compactMap { FeatureID($0) }
        for index in 0..<3 { nodes.append(makeNode(index)) }
        for index in 0..<20 { callers.append(makeCaller(index)) }
    }

    private func makeNode(_ index: Int) -> NodeProcess {
        lastLife += 1
        let clocks = NodeClocks(
            monotonic: .seconds(1_000 + Int(random.next() % 100_000)),
            wall: Self.start + now + .seconds(Int(random.next() % 20)), drift: Int(random.next() % 20_001) - 10_000)
        let journal = NodeJournal(kept, cluster, now: { [log] in Self.start + (log.time.value ?? .zero) })
        let way = NodeWay(
            journal, log, life: lastLife, build: 0, seed: random.next(), loss: isHealing ? 0 : loss,
            isSlow: !isHealing && isSlow)
        let node = NodeProcess(
            address: "node-\(index):1", build: 0, features, way, clocks, network, isForgetful: isForgetful)
        node.table.beat(at: node.address)
        return node
    }

    private func makeToken() -> SessionToken {
        SessionToken(random: (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }

    private func makeCaller(_ index: Int) -> SpaceCaller {
        let (root, isUser) = (makeToken(), index % 3 == 0)
        var token = root
        let subject = Subject(issuer: "i", id: "user\(index)")
        let record = SessionRecord(
            id: "session-\(index)", tokenHash: root.hash, epoch: "epoch\(index)", credential: .bearer,
            created: Self.start, lastSeen: Self.start, subject: isUser ? subject : nil)
        var credential: StoredCredential?
        if isUser {
            token = makeToken()
            let principal = try? WireJSON.encode(Principal(issuer: subject.issuer, subject: subject.id, claims: [:]))
            credential = StoredCredential(
                token: token.hash, kind: .bearer, number: 1, principal: principal ?? [], made: Self.start)
        }
        kept.create(record, credential: credential) { _ in }
        var mine = spaces.filter { _ in random.next() % 2 == 0 }
        if mine.isEmpty { mine = [spaces[index % spaces.count]] }
        // Who may use none of its spaces has no stream.
        if !isUser, mine.allSatisfy(SpaceCaller.isGuarded) { mine.insert(spaces[0], at: 0) }
        return SpaceCaller(index, token, isUser: isUser, mine, usesNumbers: index % 4 == 1, log)
    }

    // MARK: Steps

    /// Runs the simulation and returns the faults, the number of intents that ran, and that of takeovers.
    func run() -> (faults: [String], ran: Int, takeovers: Int) {
        let steps = 600 + Int(random.next() % 600)
        for _ in 0..<steps {
            step()
            if !faults.isEmpty { break }
        }
        if faults.isEmpty { finish() }
        for line in faults { log.tell(line) }
        return (faults, log.total, log.takeovers)
    }

    private var faults: [String] { log.faults + callers.flatMap(\.faults) }

    private func step() {
        let (node, caller) = (any(nodes), any(callers))
        for caller in callers { caller.receive() }
        switch random.next() % 200 {
        case 0..<24:
            caller.intend(&random)
            caller.send(&random, to: node, now: now)
        case 24..<40: caller.send(&random, to: node, now: now)
        case 40..<100: _ = node.step(&random)
        case 100..<115: for _ in 0..<20 { _ = node.step(&random) }
        case 115..<125: deliver()
        case 125..<145: caller.read()
        case 145..<157: caller.openStream(on: node, now: now)
        case 157..<160: caller.hangUp()
        case 160..<180: advance(by: .milliseconds(50 * Int(1 + random.next() % 8)))
        case 180..<186: wait(seconds: 1 + Int(random.next() % 4))
        case 186..<189: node.way.arriveLate()
        case 189: end(caller)
        case 190: if random.next() % 3 == 0 { endSpace() }
        default: fault(node)
        }
    }

    private func wait(seconds: Int, sending: Bool = false) {
        for _ in 0..<seconds {
            for _ in 0..<4 {
                advance(by: .milliseconds(250))
                settle()
            }
            if sending {
                for _ in 0..<4 {
                    let caller = any(callers)
                    caller.intend(&random)
                    caller.send(&random, to: any(nodes), now: now)
                    any(callers).read()
                }
            }
            if !faults.isEmpty { return }
        }
    }

    func note(fault: String) { log.note(fault: fault) }

    // MARK: Faults

    private func fault(_ node: NodeProcess) {
        if node.isStopped {
            log.tell("\(node.address) goes on")
            node.isStopped = false
            return node.clocks.goOn(isShown: random.next() % 2 == 0)
        }
        if node.way.isCut {
            log.tell("\(node.address) is connected again")
            node.way.cut(.nothing)
            if random.next() % 2 == 0 { node.way.interrupt() }
            return
        }
        switch random.next() % 16 {
        case 0..<4:
            log.tell("\(node.address) is cut off")
            node.way.cut(random.next() % 2 == 0 ? .requests : .answers)
        case 4..<7:
            log.tell("\(node.address) is stopped")
            node.isStopped = true
        case 7..<10: restart(node)
        case 10:
            log.tell("\(node.address) leaves")
            node.table.leaveNodes {}
            wait(seconds: 1)
            restart(node)
        case 11, 12: if losesCommits { goBack() }
        default: break
        }
        if random.next() % 3 == 0 { wait(seconds: 4 + Int(random.next() % 30), sending: true) }
    }

    private func restart(_ node: NodeProcess) {
        log.tell("\(node.address) is killed and starts again")
        node.crash()
        guard let index = nodes.firstIndex(where: { $0 === node }) else { return }
        nodes[index] = makeNode(index)
        for caller in callers { caller.lost(node) }
    }

    /// A caller's session ends, by any node.
    private func end(_ caller: SpaceCaller) {
        guard callers.count(where: \.isEnding) < 6, let node = nodes.first(where: { !$0.isStopped }) else { return }
        caller.isEnding = true
        log.tell("caller \(caller.index) ends its session")
        node.table.find(caller.token) { [table = node.table] found in
            if case .live(let session, _) = found { table.end(session) { _ in } }
        }
    }

    /// A space ends in the journal, as one does that was unused for long.
    private func endSpace() {
        let feature = any(spaces)
        guard let space = log[SpaceCaller.name(feature)] else { return }
        log.tell("\(feature) ends")
        kept.remove(space.key, tombstoneUntil: .zero) { _ in }
        lose(feature) { log.ended($0) }
    }

    /// Records a space's content, or restores it, as a failover to a standby without the latest commits does.
    private func goBack() {
        guard !snapshots.isEmpty else {
            for feature in spaces where random.next() % 2 == 0 {
                guard let known = log[SpaceCaller.name(feature)], let copy = kept.snapshot(of: known.key)
                else { continue }
                snapshots.append((feature, copy, known))
            }
            return
        }
        // As after a restore: no node is registered.
        cluster.forgetNodes()
        log.forgotAll()
        for (feature, copy, known) in snapshots where log[SpaceCaller.name(feature)]?.key == known.key {
            setbacks += 1
            log.tell("\(feature) goes back")
            kept.goBack(known.key, to: copy, epoch: "back\(setbacks)")
            lose(feature) { log.goBack($0, to: known, epoch: "back\(setbacks)") }
        }
        snapshots = []
    }

    private func lose(_ feature: FeatureID, _ note: (SpaceName) -> Void) {
        for caller in callers { caller.receive() }
        note(SpaceCaller.name(feature))
        for caller in callers { caller.lost(SpaceCaller.name(feature)) }
        snapshots.removeAll { $0.feature == feature }
    }

    // MARK: The end

    /// Ends all faults and checks that everything completes in a bounded time.
    private func finish() {
        isHealing = true
        log.tell("all is well again")
        for node in nodes where node.isStopped {
            node.isStopped = false
            node.clocks.goOn(isShown: true)
        }
        for node in nodes {
            node.way.heal()
            node.way.interrupt()
        }
        for _ in 0..<60 {
            for caller in callers {
                caller.openStream(on: any(nodes), now: now)
                caller.send(&random, to: any(nodes), now: now)
            }
            wait(seconds: 1)
            for caller in callers { caller.read() }
            if !faults.isEmpty { return }
        }
        // One that was told in vain for long pauses for a minute.
        for _ in 0..<90 where faults.isEmpty && !log.state.withLock({ $0.missingMessages.isEmpty }) { wait(seconds: 1) }
        for _ in 0..<4 {
            settle()
            for caller in callers { caller.read() }
        }
        for caller in callers where !caller.isEnding { caller.check() }
        for feature in spaces where feature.name == Board.name {
            let present = callers.filter { $0.looks(at: feature) }
            let viewers = SpaceViewers(count: present.count, users: present.compactMap(\.subject).sorted())
            for caller in present { caller.check(viewers, of: feature) }
        }
        let missing = log.state.withLock { $0.missingMessages }
        if !missing.isEmpty { log.note(fault: "87: the messages of \(missing) did not arrive") }
        // What follows waits in vain otherwise.
        if !faults.isEmpty { return }
        for caller in callers { caller.hangUp() }
        wait(seconds: 90)
        for orphan in kept.ownedSessions { log.note(fault: "84: a space has the owner \(orphan.owner) for ever") }
        for node in nodes {
            for session in node.table.sessions where !session.queue.isIdle {
                log.note(fault: "the queue of \(session.space?.text ?? session.id) on \(node.address) is not idle")
            }
        }
    }
}
