import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Nodes of one cluster with a feature whose work continues on other nodes, each with clocks of its own.
final class ErrandNodes {
    struct Node {
        let journal: NodeJournal
        let table: SessionTable
        let time: ManualTime
        let clock: ManualClock

        var id: NodeID? { table.environment.lease?.id }
    }

    let cluster = NodeJournal.Cluster()
    let kept = MemoryJournal()
    private(set) var nodes: [Node] = []
    let token: SessionToken
    let features: [FeatureID]
    let runs = WorkRuns()
    private let executor: (any TaskExecutor)?

    /// - Parameters:
    ///   - builds: the build of the feature on each node.
    ///   - executor: the executor of work; nil for the pool.
    init(builds: [Int] = [1, 1], executor: (any TaskExecutor)? = nil) throws {
        self.executor = executor
        token = SessionToken(random: [UInt8](repeating: 7, count: 32))
        features = ["errand:a", "errand:b", "gauge"].compactMap { FeatureID($0) }
        for build in builds { try add(build: build) }
        let record = SessionRecord(
            id: "session", tokenHash: token.hash, epoch: "epoch", credential: .bearer,
            created: .seconds(1_700_000_000), lastSeen: .seconds(1_700_000_000))
        kept.create(record) { _ in }
    }

    /// Adds a node.
    func add(build: Int) throws {
        let runs = runs
        let errand =
            build == 1
            ? try FeatureDefinition(keyed: { _, _ in Errand(runs: runs) })
            : try FeatureDefinition(keyed: { _, _ in NewerErrand(runs: runs) })
        let (journal, time, clock) = (NodeJournal(kept, cluster), ManualTime(), ManualClock())
        var limits = SessionLimits.patient
        (limits.passivateAfter, limits.evictAfter) = (.seconds(20), .seconds(30))
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([errand, FeatureDefinition(Gauge(runs: runs))]), limits: limits,
                journal: journal, time: time.source,
                clock: clock, executor: executor))
        table.listen()
        table.beat(at: "node-\(nodes.count):1")
        nodes.append(Node(journal: journal, table: table, time: time, clock: clock))
    }

    /// Advances some seconds, in which these nodes run.
    func pass(_ seconds: Int, running: [Int]? = nil) {
        for _ in 0..<seconds {
            for node in nodes { node.time.advance(by: .seconds(1)) }
            for index in running ?? Array(nodes.indices) { nodes[index].table.beat(at: "node-\(index):1") }
        }
    }

    func session(on node: Int) throws -> Session { try nodes[node].table.live(token) }

    @discardableResult
    func send(_ body: String, to feature: Int = 0, on node: Int) throws -> Result<IntentOutcome, StoreError> {
        let answer = try session(on: node).send(body, to: features[feature])
        return try #require(answer.value, "the answer was to come at once")
    }

    /// Returns the index of the session's owner; nil if none of them is.
    func owner() throws -> Int? {
        let owned = kept.ownedSessions.first
        return nodes.firstIndex { $0.id != nil && $0.id == owned?.owner.node }
    }
}
