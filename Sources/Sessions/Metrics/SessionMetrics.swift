import CoreMetrics
import Locking
import MVI
import SessionJournal
import Synchronization
import Tracing

/// The metrics of all sessions of a server, for swift-metrics. `docs/observation.md` documents them.
///
/// Each handler is created once, so that counting needs no look-up: a few atomic additions for each intent.
package final class SessionMetrics: Sendable {
    /// The metrics of each feature, by its name.
    let features: [String: FeatureMetrics]
    let streamsOpened: any CounterHandler
    private let streamsEnded: [StreamEnding: any CounterHandler]
    /// Events by their kind.
    private let states, patches, labels, others: any CounterHandler
    let pings: any CounterHandler
    let conflations: any CounterHandler
    let labelsReplayed: any CounterHandler
    private let resets: [ResetReason: any CounterHandler]
    /// The number of jobs of a session that were run and committed together.
    let queueLength: any RecorderHandler
    private let appendTime: any TimerHandler
    private let appends: [any CounterHandler]
    /// Sessions that left memory early to make room.
    let evictions: any CounterHandler
    private let sessionsExpired: any CounterHandler
    /// The number of stores in memory.
    let stores = Atomic<Int>(0)

    /// Creates handlers with a factory. The default handlers do nothing.
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
        func events(_ type: String) -> any CounterHandler { counter("mvi_events_total", ("type", type)) }
        (states, patches, labels) = (events("state"), events("patch"), events("label"))
        (others, pings) = (events("control"), events("ping"))
        conflations = counter("mvi_conflations_total")
        labelsReplayed = counter("mvi_labels_replayed_total")
        resets = Dictionary(
            uniqueKeysWithValues: ResetReason.allCases.map {
                ($0, counter("mvi_stream_resets_total", ("reason", $0.rawValue)))
            })
        queueLength = factory.makeRecorder(label: "mvi_queue_length", dimensions: [], aggregate: true)
        appendTime = factory.makeTimer(label: "mvi_journal_append_duration_seconds", dimensions: [])
        appends = AppendEnding.allCases.map { counter("mvi_journal_appends_total", ("result", "\($0)")) }
        evictions = counter("mvi_limits_reached_total", ("limit", "sessions-in-memory"))
        sessionsExpired = counter("mvi_sessions_expired_total")
    }

    package func of(_ feature: String) -> FeatureMetrics? { features[feature] }

    /// The number of stores in memory.
    package var storesInMemory: Int { stores.load(ordering: .relaxed) }

    func count(_ tally: EventTally) {
        if tally.states > 0 { states.increment(by: Int64(tally.states)) }
        if tally.patches > 0 { patches.increment(by: Int64(tally.patches)) }
        if tally.labels > 0 { labels.increment(by: Int64(tally.labels)) }
        if tally.others > 0 { others.increment(by: Int64(tally.others)) }
        if tally.replayed > 0 { labelsReplayed.increment(by: Int64(tally.replayed)) }
        if tally.conflated > 0 { conflations.increment(by: Int64(tally.conflated)) }
        if let reason = tally.reset { resets[reason]?.increment() }
    }

    func expired(_ count: Int) { if count > 0 { sessionsExpired.increment(by: Int64(count)) } }

    func ended(_ ending: StreamEnding) { streamsEnded[ending]?.increment() }

    func appended(_ ending: AppendEnding, nanoseconds: UInt64) {
        appends[ending.rawValue].increment()
        appendTime.recordNanoseconds(Int64(clamping: nanoseconds))
    }
}

/// The result of an append.
enum AppendEnding: Int, CaseIterable {
    case committed, conflict, outdated, duplicate, failed, unknown
}

/// The reason for the end of a stream: the server's reason, or the state of its connection.
package enum StreamEnding: Hashable, Sendable {
    case told(GoAwayReason)
    /// The client disconnected.
    case left
    /// The client read nothing for too long.
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

/// The metrics of one feature's stores.
package final class FeatureMetrics: StoreMeter {
    /// The result of an intent that was sent to a session.
    package enum IntentEnding: Int, CaseIterable, Sendable {
        /// The intent ran and was committed.
        case committed
        /// The intent had run before. Its stored answer was returned.
        case repeated
        /// The feature refused the intent.
        case refused
        /// The body is not an intent of the feature.
        case invalid
        /// The condition, number or key does not match.
        case conflict
        /// The server could not run or commit the intent, or had no room.
        case failed
    }

    private let intents: [any CounterHandler]
    private let turns: [any CounterHandler]
    private let turnTime: any TimerHandler
    private let running = Atomic<Int>(0)

    init(_ feature: String, _ factory: any MetricsFactory) {
        intents = IntentEnding.allCases.map {
            factory.makeCounter(
                label: "mvi_intents_total", dimensions: [("feature", feature), ("outcome", "\($0)")])
        }
        turns = TurnKind.allCases.map {
            factory.makeCounter(label: "mvi_turns_total", dimensions: [("feature", feature), ("kind", "\($0)")])
        }
        turnTime = factory.makeTimer(label: "mvi_turn_duration_seconds", dimensions: [("feature", feature)])
    }

    /// The number of pieces of launched work that run now.
    package var runningWork: Int { running.load(ordering: .relaxed) }

    package func turnTook(_ nanoseconds: UInt64) { turnTime.recordNanoseconds(Int64(clamping: nanoseconds)) }
    package func turnCommitted(_ kind: TurnKind) {
        turns[kind.rawValue].increment()
        if kind == .intent { count(.committed) }
    }

    package func workBegan() { running.wrappingAdd(1, ordering: .relaxed) }
    package func workEnded() { running.wrappingSubtract(1, ordering: .relaxed) }

    func count(_ ending: IntentEnding) { intents[ending.rawValue].increment() }
}

extension FeatureMetrics.IntentEnding {
    /// Nil for an intent that another node runs and counts.
    init?(_ result: IntentResult) {
        switch result {
        case .success(let outcome): self = outcome.isReplayed || outcome.refusal != nil ? .repeated : .committed
        case .failure(let error):
            switch error.code {
            case .elsewhere: return nil
            case .refused, .forbidden: self = .refused
            case .malformed, .mismatch, .unknownIntent, .featureNotFound: self = .invalid
            case .preconditionFailed, .receiptPending, .receiptConflict, .outOfSequence, .receiptExpired, .disposed,
                .gone:
                self = .conflict
            default: self = .failed
            }
        }
    }
}

extension CounterHandler {
    /// Increments by one. Uses the handlers directly: swift-metrics's wrappers convert each number generically.
    func increment() { increment(by: 1) }
}

/// The events that one step of a stream sent, counted under the session's lock and added to the metrics after it.
struct EventTally {
    var states: UInt32 = 0
    var patches: UInt32 = 0
    var labels: UInt32 = 0
    /// The labels among them that were sent before.
    var replayed: UInt32 = 0
    var others: UInt32 = 0
    /// The states that were not sent because newer ones replaced them.
    var conflated: UInt32 = 0
    var reset: ResetReason?

    /// The number of all events.
    var events: UInt64 { UInt64(states) + UInt64(patches) + UInt64(labels) + UInt64(others) }

    /// The states and labels that were sent since.
    func told(since before: EventTally) -> EventTally {
        var tally = EventTally()
        tally.states = states - before.states
        tally.patches = patches - before.patches
        tally.labels = labels - before.labels
        tally.replayed = replayed - before.replayed
        return tally
    }

    mutating func add(_ other: EventTally) {
        states += other.states
        patches += other.patches
        labels += other.labels
        replayed += other.replayed
    }
}

/// Counters of a session's intents and appends, each counted once, when its result is known. The store's meter counts
/// turns, and an intent together with its turn.
extension Session {
    /// Counts an intent that was answered without a turn, or whose store is not in memory.
    func count(_ result: IntentResult, _ feature: FeatureID) {
        guard let ending = FeatureMetrics.IntentEnding(result) else { return }
        shared.metrics.of(feature.name)?.count(ending)
    }
}

/// The span of an append: a child of its first intent's span, linked to the others. A class, so that a batch without
/// tracing holds one empty reference.
final class AppendSpan: Sendable {
    private let begun = Lock<(any Span)?>(nil)

    /// Begins the span: the tracer's code runs, so under no lock.
    func begin(_ tracer: StoreTracer, _ session: Session, head: UInt64, _ results: ShortList<JobResult>) {
        var traces: [ServiceContext] = []
        for result in results {
            let trace = (result.job as? IntentJob)?.request.trace ?? (result.job as? StoreJob)?.context.trace
            if let trace { traces.append(trace) }
        }
        let span = tracer.append(traces)
        span.attributes["mvi.session"] = session.id
        span.attributes["mvi.head"] = Int64(clamping: head)
        span.attributes["mvi.turns"] = Int64(results.count)
        begun.withLock { $0 = span }
    }

    /// Ends the span with the journal's answer.
    func end(_ ending: AppendEnding) {
        guard let span = begun.withLock({ $0 }) else { return }
        span.attributes["mvi.append"] = "\(ending)"
        if ending == .failed || ending == .unknown { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }
}

extension AppendEnding {
    init(_ result: AppendResult) {
        switch result {
        case .committed: self = .committed
        case .conflict: self = .conflict
        case .callersChanged: self = .outdated
        case .duplicate, .heardBefore: self = .duplicate
        case .failed: self = .failed
        case .unknown: self = .unknown
        }
    }
}
