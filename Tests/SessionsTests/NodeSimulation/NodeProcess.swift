import Locking
import MVI
import SessionJournal
import Sessions
import TestSupport

@testable import Sessions

/// A pending request, possibly between nodes.
struct NodeCall: Sendable {
    enum Purpose: Sendable {
        case intent(IntentRequest)
        case state
        case removal
    }

    let token: SessionToken
    let feature: FeatureID
    let purpose: Purpose
    /// The version that an intent requires, in the log of that epoch: an entity tag.
    var ifMatch: (epoch: String, version: UInt64)?
    let answer: @Sendable (NodeAnswer) -> Void
    /// The number of nodes that forwarded it.
    var hops = 0
}

/// The result of a request.
struct NodeAnswer: Sendable {
    let result: Result<IntentOutcome?, StoreError>

    static func failed(_ error: StoreError) -> NodeAnswer { NodeAnswer(result: .failure(error)) }
}

/// Messages between nodes until they arrive.
final class NodeNetwork: Sendable {
    /// Arrives at a node; nil if that is gone.
    typealias Arrival = @Sendable (NodeProcess?) -> Void

    private let calls = Lock<[(address: String, call: Arrival)]>([])

    func send(_ call: NodeCall, to address: String) {
        send(to: address) { node in
            node?.take(call) ?? call.answer(.failed(StoreError(.unavailable, "The node is gone.")))
        }
    }

    /// Tells a node who looks at stores on another one.
    func send(_ reports: [PresenceReport], of node: NodeID, to address: String) {
        send(to: address) { $0?.table.watched(reports, of: node) }
    }

    private func send(to address: String, _ arrival: @escaping Arrival) {
        calls.withLock { $0.append((address, arrival)) }
    }

    /// Sends a message of a log. Returns nil if no answer comes within five seconds.
    func send(
        _ message: ToldMessage, to token: TokenHash, on address: String, _ environment: SessionEnvironment
    ) async -> TurnOutcome? {
        let isOver = Lock(false)
        return await withCheckedContinuation { continuation in
            let end: @Sendable (TurnOutcome?) -> Void = { outcome in
                let isFirst = isOver.withLock { isOver in
                    defer { isOver = true }
                    return !isOver
                }
                if isFirst { continuation.resume(returning: outcome) }
            }
            send(to: address) { node in
                guard let node else { return end(nil) }
                Task(executorPreference: node.executor) { [table = node.table] in
                    end(await table.deliver(message, to: token))
                }
            }
            Task(executorPreference: environment.executor) {
                try? await environment.clock.sleep(for: .seconds(5))
                end(nil)
            }
        }
    }

    /// Takes a random message whose receiver is reachable or unknown.
    func take(_ random: inout SplitMix, where canArrive: (String) -> Bool) -> (address: String, call: Arrival)? {
        let number = random.next()
        return calls.withLock { calls in
            let ready = calls.indices.filter { canArrive(calls[$0].address) }
            return ready.isEmpty ? nil : calls.remove(at: ready[Int(number % UInt64(ready.count))])
        }
    }
}

/// One node's life, from its start to its crash.
final class NodeProcess {
    let address: String
    let build: Int
    let life: Int
    let way: NodeWay
    let clocks: NodeClocks
    let executor = SteppedExecutor()
    let table: SessionTable
    let network: NodeNetwork
    var isStopped = false
    private var reminders: Task<Void, Never>?
    private var seconds = 0

    init(
        address: String, build: Int, _ features: FeatureRegistry, _ way: NodeWay, _ clocks: NodeClocks,
        _ network: NodeNetwork, isForgetful: Bool
    ) {
        (self.address, self.build, self.way, self.clocks, self.network) = (address, build, way, clocks, network)
        life = way.life
        var limits = SessionLimits.patient
        limits.sessionLife = .seconds(1_000_000)
        if isForgetful { (limits.passivateAfter, limits.evictAfter) = (.seconds(4), .seconds(6)) }
        table = SessionTable(
            environment: SessionEnvironment(
                features: features, limits: limits, journal: way, time: clocks.source,
                clock: CoarseClock(clock: clocks.sleeping), executor: executor))
        table.connectMessages { [network, environment = table.environment] message, token, owner in
            await network.send(message, to: token, on: owner.address, environment)
        }
        table.environment.onPresence { [unowned table, network] report in
            Self.tell([report], of: table, network)
        }
        table.listen()
        reminders = Task(executorPreference: executor) { [table] in await table.runReminders() }
    }

    /// Runs the periodic tasks of a process.
    func beat(_ nodes: [NodeProcess]) {
        seconds += 1
        table.beat(at: address)
        if seconds % 3 == 0 { table.compareMarks() }
        if seconds % 4 == 0 {
            tellWatched(nodes)
            Self.tell(table.presences, of: table, network)
        }
        if seconds % 5 == 0 { table.sweep(part: 1) }
    }

    /// Reports the watched features to owners, as the HTTP layer does.
    private func tellWatched(_ nodes: [NodeProcess]) {
        guard let id = table.environment.lease?.id else { return }
        for (node, sessions) in table.watchedElsewhere {
            guard let owner = nodes.first(where: { $0.address == node.address }), !owner.isStopped else { continue }
            owner.table.watched(sessions, by: id)
        }
    }

    /// Tells all other nodes who looks at stores here.
    private static func tell(_ reports: [PresenceReport], of table: SessionTable, _ network: NodeNetwork) {
        guard !reports.isEmpty, let lease = table.environment.lease, let id = lease.id else { return }
        for node in lease.others.sorted(by: { $0.address < $1.address }) {
            network.send(reports, of: id, to: node.address)
        }
    }

    /// Runs one waiting task; returns false if there is none.
    func step(_ random: inout SplitMix) -> Bool {
        if isStopped { return way.arrive() }
        let first = Int(random.next() % 4)
        for kind in first..<(first + 4) {
            let isDone =
                switch kind % 4 {
                case 0: way.arrive()
                case 1: way.tell()
                case 2: executor.step(&random)
                default: way.tellNews()
                }
            if isDone { return true }
        }
        return false
    }

    func crash() {
        reminders?.cancel()
        way.crash()
    }

    // MARK: Requests

    /// Answers a request on the node that owns the session, or the space, as the HTTP layer does.
    func take(_ call: NodeCall) { Self.take(call, table, network) }

    static func take(_ call: NodeCall, _ table: SessionTable, _ network: NodeNetwork) {
        find(call, table) { session, client in
            guard let space = table.environment.features.space(of: call.feature) else {
                return run(call, session, SessionClient(), network, tries: 0)
            }
            table.space(space, permit: { nil }) { found in
                guard case .live(let space, _) = found else {
                    return call.answer(.failed(StoreError(.unavailable, "The space is \(found).")))
                }
                run(call, space, client.in(session), network, tries: 0)
            }
        }
    }

    private static func find(
        _ call: NodeCall, _ table: SessionTable, _ then: @escaping @Sendable (Session, SessionClient) -> Void
    ) {
        table.find(call.token) { found in
            switch found {
            case .live(let session, let credential): then(session, SessionClient(credential))
            case .failed(let error), .damaged(_, let error): call.answer(.failed(error))
            case .ended: call.answer(.failed(.sessionEnded))
            case .unknown: call.answer(.failed(StoreError(.gone, "The session is unknown.")))
            }
        }
    }

    private static func run(
        _ call: NodeCall, _ session: Session, _ client: SessionClient, _ network: NodeNetwork, tries: Int
    ) {
        perform(call, session, client) { result in
            guard case .failure(let error) = result, error.code == .elsewhere else {
                return call.answer(NodeAnswer(result: result))
            }
            if call.hops < 2, let owner = session.owningNode {
                var next = call
                next.hops += 1
                return network.send(next, to: owner.address)
            }
            guard tries < 2 else { return call.answer(.failed(StoreError(.unavailable, "No node runs it now."))) }
            session.catchUp { run(call, session, client, network, tries: tries + 1) }
        }
    }

    private static func perform(
        _ call: NodeCall, _ session: Session, _ client: SessionClient,
        _ done: @escaping @Sendable (Result<IntentOutcome?, StoreError>) -> Void
    ) {
        switch call.purpose {
        case .intent(var request):
            request.client = client
            if let (epoch, version) = call.ifMatch {
                request.ifMatch = { $0 == version...version && session.epoch == epoch }
            }
            session.send(request, to: call.feature) { done($0.map { $0 }) }
        case .state:
            session.state(of: call.feature, for: client) { result in
                done(
                    result.map { state in
                        var outcome = IntentOutcome(id: .bootstrap, version: state.version, isSettled: true)
                        outcome.state = state
                        return outcome
                    })
            }
        case .removal: session.removeStore(call.feature, for: client) { done($0.map { _ in nil }) }
        }
    }
}
