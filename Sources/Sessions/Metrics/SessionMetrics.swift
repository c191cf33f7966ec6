import CoreMetrics
import MVI
import Synchronization

/// What all sessions of a server count and measure, in the words of swift-metrics. `docs/observation.md` has their
/// meaning.
///
/// Each is made once, so that to count takes no look-up: a few atomic additions an intent.
package final class SessionMetrics: Sendable {
    /// Of each feature, by its name.
    let features: [String: FeatureMetrics]
    let streamsOpened: any CounterHandler
    private let streamsEnded: [StreamEnding: any CounterHandler]
    let events: EventCounters
    let conflations: any CounterHandler
    let labelsReplayed: any CounterHandler
    private let resets: [ResetReason: any CounterHandler]
    /// How many jobs of a session were run and committed together.
    let queueLength: any RecorderHandler
    private let appendTime: any TimerHandler
    private let appends: [any CounterHandler]
    /// Sessions that left memory before their time since there was no room.
    let evictions: any CounterHandler
    private let sessionsExpired: any CounterHandler
    /// How many stores are in memory.
    let stores = Atomic<Int>(0)

    /// Counters of a factory's; the default's do nothing.
    package init(_ factory: any MetricsFactory = NOOPMetricsHandler.instance, features: [String] = []) {
        func counter(_ name: String, _ dimensions: (String, String)...) -> any CounterHandler {
            factory.makeCounter(label: name, dimensions: dimensions)
        }
        self.features = Dictionary(
            uniqueKeysWithValues: features.map { ($0, FeatureMetrics($0, factory)) })
        streamsOpened = counter("mvi_streams_opened_total")
        streamsEnded = Dictionary(
            uniqueKeysWithValues: StreamEnding.all.map { ($0, counter("mvi_streams_ended_total", ("reason", $0.name))) }
        )
        events = EventCounters(factory)
        conflations = counter("mvi_conflations_total")
        labelsReplayed = counter("mvi_labels_replayed_total")
        resets = Dictionary(
            uniqueKeysWithValues: ResetReason.allCases.map {
                ($0, counter("mvi_stream_resets_total", ("reason", $0.rawValue)))
            })
        queueLength = factory.makeRecorder(label: "mvi_queue_length", dimensions: [], aggregate: true)
        appendTime = factory.makeTimer(label: "mvi_journal_append_duration_seconds", dimensions: [])
        appends = AppendEnding.allCases.map { counter("mvi_journal_appends_total", ("result", $0.rawValue)) }
        evictions = counter("mvi_limits_reached_total", ("limit", "sessions-in-memory"))
        sessionsExpired = counter("mvi_sessions_expired_total")
    }

    package func of(_ feature: String) -> FeatureMetrics? { features[feature] }

    /// How many stores are in memory.
    package var storesInMemory: Int { stores.load(ordering: .relaxed) }

    func count(_ tally: EventTally) {
        guard !tally.isEmpty else { return }
        events.count(tally)
        if tally.replayed > 0 { labelsReplayed.increment(by: Int64(tally.replayed)) }
        if tally.conflated > 0 { conflations.increment(by: Int64(tally.conflated)) }
        if let reason = tally.reset { resets[reason]?.increment() }
    }

    func expired(_ count: Int) { if count > 0 { sessionsExpired.increment(by: Int64(count)) } }

    func ended(_ ending: StreamEnding) { streamsEnded[ending]?.increment() }

    func appended(_ ending: AppendEnding, nanoseconds: UInt64) {
        appends[ending.place].increment()
        appendTime.recordNanoseconds(Int64(clamping: nanoseconds))
    }
}

/// What became of an append.
enum AppendEnding: String, CaseIterable {
    case committed, conflict, duplicate, failed, unknown

    /// In `allCases`.
    fileprivate var place: Int {
        switch self {
        case .committed: 0
        case .conflict: 1
        case .duplicate: 2
        case .failed: 3
        case .unknown: 4
        }
    }
}

/// Why a stream is over: the server's reason if it gave one, else what became of its connection.
package enum StreamEnding: Hashable, Sendable {
    case told(GoAwayReason)
    /// The client left.
    case left
    /// The client took nothing for too long.
    case slow
    /// The socket failed, or the server stopped before the stream had ended.
    case cut

    static let all: [StreamEnding] = GoAwayReason.allCases.map { .told($0) } + [.left, .slow, .cut]

    var name: String {
        switch self {
        case .told(let reason): reason.rawValue
        case .left: "client-left"
        case .slow: "slow"
        case .cut: "cut"
        }
    }
}
