import MVITesting
import SessionJournal
import Sessions
import TestSupport

/// A node without a server: its lease, and the sessions' environment.
struct TestNode: Sendable {
    let journal: NodeJournal
    let environment: SessionEnvironment
    private let world: World
    private let table: SessionTable

    /// Makes a node that has joined.
    init(
        in world: World, _ cluster: NodeJournal.Cluster = NodeJournal.Cluster(),
        clock: any Clock<Duration> = ManualClock()
    ) throws {
        self.world = world
        journal = NodeJournal(world.kept, cluster)
        environment = SessionEnvironment(
            features: try FeatureRegistry([]), journal: journal, time: world.start(), clock: clock)
        table = SessionTable(environment: environment)
        beat()
    }

    /// The id of its lease; nil while it has none.
    var id: NodeID? { environment.lease?.id }

    func beat() { table.beat(at: "node:1") }

    /// Advances the time by some seconds, in which it renews its lease.
    func pass(_ seconds: Int) {
        for _ in 0..<seconds {
            world.time.advance(by: .seconds(1))
            beat()
        }
    }
}
