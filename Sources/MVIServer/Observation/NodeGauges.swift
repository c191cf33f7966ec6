import CoreMetrics
import Locking
import Sessions

/// The metrics of a node, updated for each read of `/metrics`.
final class NodeGauges: Sendable {
    private let factory: any MetricsFactory
    private let lease: Meter
    private let owned: Meter
    private let newsLate: Meter
    private let counts: [(copy: CountCopy, count: @Sendable (NodeFigures) -> Int)]

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        lease = Meter(label: "mvi_node_lease_held", factory: factory)
        owned = Meter(label: "mvi_node_sessions_owned", factory: factory)
        newsLate = Meter(label: "mvi_journal_news_late", factory: factory)
        func count(
            _ name: String, _ dimensions: [(String, String)] = [], _ count: @escaping @Sendable (NodeFigures) -> Int
        ) -> (CountCopy, @Sendable (NodeFigures) -> Int) { (CountCopy(name, dimensions, factory), count) }
        counts = [
            count("mvi_node_fences_total", [("reason", "lease-expired")]) { $0.leaseExpiries },
            count("mvi_node_fences_total", [("reason", "forgotten")]) { $0.evictions },
            count("mvi_journal_news_delays_total") { $0.journal.newsDelays },
            count("mvi_journal_connections_lost_total") { $0.journal.connectionsLost },
            count("mvi_journal_groups_split_total") { $0.journal.groupsSplit },
        ]
    }

    func update(_ figures: NodeFigures) {
        lease.set(figures.holdsLease ? 1 : 0)
        owned.set(figures.sessionsOwned)
        newsLate.set(figures.journal.areNewsLate ? 1 : 0)
        for (copy, count) in counts { copy.set(count(figures)) }
        set("mvi_node_clock_difference_seconds", figures.clockDifference)
        set("mvi_journal_oldest_transaction_seconds", figures.journal.oldestTransaction)
    }

    /// Sets a time. An unknown time keeps the last value, or has none.
    private func set(_ name: String, _ time: Duration?) {
        if let time { Meter(label: name, factory: factory).set(time / .seconds(1)) }
    }
}
