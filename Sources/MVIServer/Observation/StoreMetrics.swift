import CoreMetrics
import MVI
import SessionJournal

/// Counts the reports of stores.
struct StoreMetrics: Sendable {
    private let slowTurns: [String: Counter]
    private let failures: [String: Counter]
    private let labelsDropped: Counter

    init(_ factory: any MetricsFactory, features: [String]) {
        var (slowTurns, failures): ([String: Counter], [String: Counter]) = ([:], [:])
        for feature in features {
            slowTurns[feature] = Counter(
                label: "mvi_slow_turns_total", dimensions: [("feature", feature)], factory: factory)
            for stage in Failure.Stage.names {
                failures["\(feature) \(stage)"] = Counter(
                    label: "mvi_failures_total", dimensions: [("feature", feature), ("stage", stage)],
                    factory: factory)
            }
        }
        (self.slowTurns, self.failures) = (slowTurns, failures)
        labelsDropped = Counter(label: "mvi_labels_dropped_total", dimensions: [], factory: factory)
    }

    func note(_ report: StoreReport) {
        switch report {
        case .failure(let failure, let place):
            failures["\(place.feature) \(failure.stage.name)"]?.increment()
        case .slowTurn(_, _, let place): slowTurns[place.feature]?.increment()
        case .undelivered(let count, _): labelsDropped.increment(by: count)
        case .commitFailed, .stateSetAside, .membersUnread, .unrecordable, .recordingsLost, .messageLost, .notForgotten:
            break
        }
    }
}

extension StorePlace {
    /// The feature's name without the key.
    fileprivate var feature: String { String(instance.prefix { $0 != ":" }) }
}

extension Failure.Stage {
    fileprivate static let names = ["bootstrap", "signIn", "check", "execute", "work"]
}

/// A journal's transactions, as metrics.
struct TransactionMetrics: JournalMeter {
    private let groupSize: Recorder
    private let duration: Timer

    init(_ factory: any MetricsFactory) {
        groupSize = Recorder(label: "mvi_journal_group_size", dimensions: [], aggregate: true, factory: factory)
        duration = Timer(label: "mvi_journal_transaction_duration_seconds", dimensions: [], factory: factory)
    }

    func committed(appends: Int, in duration: Duration) {
        // Transactions that only delete sessions are not groups.
        if appends > 0 { groupSize.record(appends) }
        let (seconds, attoseconds) = duration.components
        self.duration.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
