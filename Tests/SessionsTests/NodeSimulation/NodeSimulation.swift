import EventStream
import MVI
import SessionJournal
import TestSupport

@testable import Sessions

/// Three nodes that share one journal, and clients that use any of them, on one thread. The seed determines each step,
/// so a failing seed fails again.
final class NodeSimulation: NodeWorld {
    private let builds: [FeatureRegistry]
    let setting: Setting
    var random: SplitMix
    let kept = MemoryJournal()
    private let cluster = NodeJournal.Cluster()
    let network = NodeNetwork()
    let log: CommitLog
    var now: Duration = .zero
    var time: Box<Duration> { log.time }
    var nodes: [NodeProcess] = []
    private var lastLife = 0
    private var clients: [NodeClient] = []
    var users: [NodeClient] { clients }
    private var sessions: [SessionOfClients] = []
    /// The number of lost requests to the journal per thousand.
    private let loss: UInt64
    private let isSlow: Bool
    private let isForgetful: Bool
    private var isHealing = false
    /// The events of the run in order, printed for a single seed.
    var story: [String] { log.story }

    init(_ builds: [FeatureRegistry], seed: UInt64, _ setting: Setting) throws {
        self.builds = builds
        self.setting = setting
        random = SplitMix(seed: seed)
        log = CommitLog(kept)
        loss = [0, 0, 20, 100][Int(random.next() % 4)]
        isSlow = random.next() % 2 == 0
        isForgetful = random.next() % (setting.goesBackOften ? 1 : 2) == 0
        for index in 0..<3 { nodes.append(makeNode(index, build: 0)) }
        try makeSessions()
    }

    private func makeNode(_ index: Int, build: Int) -> NodeProcess {
        lastLife += 1
        let time = now
        // Some machines' clocks are wrong by a day.
        let wrong = [Duration.zero, .zero, day, .zero - day][Int(random.next() % 4)]
        let clocks = NodeClocks(
            monotonic: .seconds(1_000 + Int(random.next() % 100_000)),
            wall: .seconds(1_700_000_000) + time + .seconds(Int(random.next() % 20)) + wrong,
            drift: Int(random.next() % 20_001) - 10_000)
        // Claims of reminders expire by the journal's own clock, which differs from the nodes'.
        let journal = NodeJournal(
            kept, cluster, now: { [log] in .seconds(1_700_000_000) + (log.time.value ?? .zero) })
        let way = NodeWay(
            journal, log, life: lastLife, build: build, seed: random.next(), loss: isHealing ? 0 : loss,
            isSlow: !isHealing && isSlow)
        let node = NodeProcess(
            address: "node-\(index):1", build: build, builds[build], way, clocks, network, isForgetful: isForgetful)
        // Before it serves any client.
        node.table.beat(at: node.address)
        return node
    }

    private let day: Duration = .seconds(24 * 3_600)
    /// The states to which the journal may go back, and the number of times it did.
    private var snapshots: [(session: SessionOfClients, key: SessionKey, kept: MemorySnapshot, CommitLog.History)] = []
    private var setbacks = 0

    private func makeSessions() throws {
        let count = random.next() % 3 == 0 ? 2 : 1
        let hasGauge = random.next() % 2 == 0
        for index in 0..<count {
            let token = SessionToken(random: (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            let record = SessionRecord(
                id: "session-\(index)", tokenHash: token.hash, epoch: "epoch\(index)", credential: .bearer,
                created: .seconds(1_700_000_000), lastSeen: .seconds(1_700_000_000))
            kept.create(record) { [log] result in
                if case .success(let key) = result { log.created(key, token.hash, epoch: record.epoch) }
            }
            var names = ["errand:a", "errand:b"]
            if hasGauge { names.append("gauge") }
            let session = SessionOfClients(
                token, names.compactMap { FeatureID($0) },
                disposable: random.next() % 4 == 0 ? [FeatureID("errand:b")].compactMap { $0 }.asSet : [], limit: 24)
            sessions.append(session)
            for (number, naming) in [NodeClient.Naming.keys, .numbers, .nothing].enumerated() {
                clients.append(NodeClient(session, naming, epoch: "client\(index).\(number)", log))
            }
        }
        // One session is ended in the middle of the run.
        if count == 2, random.next() % 2 == 0 { endsAt = .seconds(20 + Int(random.next() % 40)) }
    }

    private var endsAt: Duration?

    // MARK: Steps

    /// Runs the simulation and returns the findings.
    func run() -> Findings {
        let steps = 250 + Int(random.next() % 350)
        for _ in 0..<steps {
            step()
            if !faults.isEmpty { break }
        }
        if faults.isEmpty { finish() }
        if !faults.isEmpty { for line in nodes.flatMap(\.condition) + faults { log.tell(line) } }
        return Findings(faults: faults, steps: log.counts.steps, takeovers: log.counts.takeovers)
    }

    private var faults: [String] { log.faults + clients.flatMap(\.faults) }

    private func step() {
        let node = any(nodes)
        let client = any(clients)
        for client in clients { client.receive() }
        switch random.next() % (setting.goesBackOften ? 260 : 200) {
        case 0..<20:
            client.intend(&random)
            client.send(&random, to: node, of: nodes, now: now)
        case 20..<40: client.send(&random, to: node, of: nodes, now: now)
        case 40..<110: _ = node.step(&random)
        case 110..<120: for _ in 0..<12 { _ = node.step(&random) }
        case 120..<130: deliver()
        case 130..<145: client.read()
        case 145..<152: client.openStream(on: node, now: now)
        case 152..<154: client.hangUp()
        case 154..<160, 200..<234: client.readState(&random, of: node)
        case 160..<162:
            let session = client.session
            if let feature = session.disposable.first { client.remove(feature, on: node) }
        case 162..<180, 234..<254: pass(.milliseconds(50 * Int(1 + random.next() % 8)))
        case 180..<186: wait(seconds: 1 + Int(random.next() % 4))
        case 186..<189: node.way.arriveLate()
        case 189:
            // Another node asks for the session.
            if !node.isStopped { node.table.giveAway(client.token.hash) { _ in } }
        default: fault(node)
        }
    }

    /// Advances the time only.
    private func pass(_ time: Duration) {
        advance(by: time)
        if let endsAt, now >= endsAt, let session = sessions.last { end(session) }
    }

    /// Advances some seconds, in which the nodes run all their tasks.
    func wait(seconds: Int, sending: Bool = false) {
        for _ in 0..<seconds {
            for _ in 0..<4 {
                pass(.milliseconds(250))
                settle()
            }
            if sending, random.next() % 2 == 0 {
                let client = any(clients)
                if random.next() % 3 == 0 { client.intend(&random) }
                client.send(&random, to: any(nodes), of: nodes, now: now)
            }
            if !faults.isEmpty { return }
        }
    }

    func note(fault: String) { log.note(fault: fault) }

    // MARK: Faults

    private func fault(_ node: NodeProcess) {
        if node.isStopped { return goOn(node) }
        if node.way.isCut { return join(node) }
        switch random.next() % 20 {
        case 0..<5:
            let cut: NodeWay.Cut = random.next() % 2 == 0 ? .requests : .answers
            log.tell("\(node.address) is cut off: \(cut)")
            node.way.cut(cut)
        case 5..<9:
            log.tell("\(node.address) is stopped")
            node.isStopped = true
        case 9..<12: restart(node, build: node.build)
        case 12:
            let time = Duration.seconds(Int(random.next() % 60) - 30)
            node.clocks.setWall(by: random.next() % 4 == 0 ? (random.next() % 2 == 0 ? day : .zero - day) : time)
            return
        case 13:
            if setting.hasDeploys, node.build < builds.count - 1 { restart(node, build: node.build + 1) }
        case 14:
            // A node that leaves reports it.
            log.tell("\(node.address) leaves")
            node.table.leaveNodes {}
            wait(seconds: 1)
            restart(node, build: node.build)
        case 16...19 where setting.goesBackOften, 17...18 where setting.goesBack: goBack()
        case 15...16:
            let key = log.key(of: any(sessions).token.hash)
            log.tell("a row is held")
            for node in nodes { node.way.lock(key) }
            wait(seconds: 1 + Int(random.next() % 6), sending: true)
            for node in nodes { node.way.lock(nil) }
            return
        default: break
        }
        if random.next() % 3 == 0 { wait(seconds: 4 + Int(random.next() % 30), sending: true) }
    }

    /// Records the journal's content, or restores it, as in a restore or a failover to a standby without the latest
    /// commits.
    private func goBack() {
        guard !snapshots.isEmpty else {
            for session in sessions where !session.isEnding {
                guard let key = log.key(of: session.token.hash), let copy = kept.snapshot(of: key) else { continue }
                snapshots.append((session, key, copy, log.history(session.token.hash)))
            }
            return
        }
        setbacks += 1
        // After a restore no node is registered.
        cluster.forgetNodes()
        log.forgotAll()
        log.tell("the journal goes back")
        for (session, key, copy, history) in snapshots where !session.isEnding {
            let epoch = "\(setbacks)-\(session.token.hash.shard)"
            kept.goBack(key, to: copy, epoch: epoch)
            log.goBack(session.token.hash, to: history, epoch: epoch)
            session.goBack()
            for client in clients where client.session === session { client.goBack() }
        }
        snapshots = []
        if random.next() % 2 == 0 { for node in nodes { node.way.interrupt() } }
    }

    private func goOn(_ node: NodeProcess) {
        log.tell("\(node.address) goes on")
        node.isStopped = false
        node.clocks.goOn(isShown: random.next() % 2 == 0)
    }

    private func join(_ node: NodeProcess) {
        log.tell("\(node.address) is connected again")
        node.way.cut(.nothing)
        if random.next() % 2 == 0 { node.way.interrupt() }
    }

    private func restart(_ node: NodeProcess, build: Int) {
        log.tell("\(node.address) is killed and starts with build \(build)")
        node.crash()
        guard let index = nodes.firstIndex(where: { $0 === node }) else { return }
        nodes[index] = makeNode(index, build: build)
        for client in clients { client.lost(node) }
    }

    private func end(_ session: SessionOfClients) {
        guard let node = nodes.first(where: { !$0.isStopped }) else { return }
        session.isEnding = true
        node.table.find(session.token) { [table = node.table] found in
            if case .live(let session, _) = found { table.end(session) { _ in } }
        }
        endsAt = now + .seconds(5)
    }

    // MARK: The end

    /// Ends all faults and checks that everything completes in a bounded time.
    private func finish() {
        isHealing = true
        log.tell("all is well again")
        for node in nodes where node.isStopped { goOn(node) }
        for node in nodes {
            node.way.heal()
            node.way.lock(nil)
        }
        checkCrates()
        for node in nodes where node.build < nodes.map(\.build).max() ?? 0 { restart(node, build: builds.count - 1) }
        for node in nodes { node.way.heal() }
        for _ in 0..<150 {
            for client in clients {
                client.openStream(on: any(nodes), now: now)
                client.send(&random, to: any(nodes), of: nodes, now: now)
            }
            wait(seconds: 1)
            for client in clients { for _ in 0..<8 { client.read() } }
            if !faults.isEmpty { return }
        }
        for session in sessions where !session.isEnding { checkWork(of: session) }
        let earlier = sessions.map { ticks(of: $0) }
        for _ in 0..<12 {
            wait(seconds: 1)
            for client in clients { for _ in 0..<8 { client.read() } }
        }
        for (session, before) in zip(sessions, earlier) where !session.isEnding {
            if let before, ticks(of: session) ?? 0 <= before + 4 {
                log.note(
                    fault: "work for watchers does not run: \(before) ticks, and \(ticks(of: session) ?? 0) 12 s later")
            }
        }
        for _ in 0..<40 {
            settle()
            for client in clients { client.read() }
        }
        for client in clients where !client.session.isEnding { client.check() }
        checkEnded()
        for client in clients { client.hangUp() }
        wait(seconds: 60)
        checkRest()
    }

    private func ticks(of session: SessionOfClients) -> Int? {
        log.history(session.token.hash).stores.first { $0.key.name == "gauge" }?.value.log.ticks
    }

    private func checkWork(of session: SessionOfClients) {
        for (feature, store) in log.history(session.token.hash).stores {
            if !store.log.open.isEmpty { log.note(fault: "\(feature): work never ended: \(store.log)") }
        }
        guard let key = log.key(of: session.token.hash) else { return }
        let now = .seconds(1_700_000_000) + (log.time.value ?? .zero)
        kept.load(key, since: .empty) { [log] result in
            guard let stored = try? result.get() else { return log.note(fault: "the session is gone") }
            // What old builds could not fire is tried again after at most as long as it is late.
            let lost = stored.reminders.filter { $0.notBefore <= now || $0.notBefore - now > now - $0.due }
            if !lost.isEmpty { log.note(fault: "reminders never came: \(lost)") }
        }
    }

    private func checkEnded() {
        for session in sessions where session.isEnding {
            for node in nodes {
                node.table.find(session.token) { [log, address = node.address] found in
                    if case .ended = found { return }
                    log.note(fault: "a session that was ended is \(found) on \(address)")
                }
            }
            settle()
        }
    }

    /// Checks that no task runs and no session has an owner.
    private func checkRest() {
        for orphan in kept.ownedSessions {
            log.note(fault: "a session has the owner \(orphan.owner), working: \(orphan.working)")
        }
        for node in nodes {
            if node.table.environment.lease?.holder == nil { log.note(fault: "\(node.address) has no lease") }
            for session in node.table.sessions where !session.queue.isIdle {
                log.note(fault: "the queue of a session on \(node.address) is not idle")
            }
        }
    }
}
