import CoreMetrics
import Locking
import MVI
import SessionJournal
import Synchronization
import Tracing

/// What all sessions of a server count and measure, in the words of swift-metrics. `docs/observation.md` has their
/// meaning.
///
/// Each is made once, so that to count takes no look-up: a few atomic additions an intent.
package final class SessionMetrics: Sendable {
    /// Of each feature, by its name.
    let features: [String: FeatureMetrics]
    let streamsOpened: any CounterHandler
    private let streamsEnded: [StreamEnding: any CounterHandler]
    /// Events by their kind.
    private let states, patches, labels, others: any CounterHandler
    let pings: any CounterHandler
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

    /// How many stores are in memory.
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

/// What became of an append.
enum AppendEnding: Int, CaseIterable {
    case committed, conflict, duplicate, failed, unknown
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

/// What the stores of one feature count and measure.
package final class FeatureMetrics: StoreMeter {
    /// What became of an intent that was sent to a session.
    package enum IntentEnding: Int, CaseIterable, Sendable {
        /// It ran, and what it did is kept.
        case committed
        /// It had run before: the answer is that of then.
        case repeated
        /// The feature said no.
        case refused
        /// Its body is no intent of the feature.
        case invalid
        /// Its condition, its number or its key does not fit.
        case conflict
        /// The server could not run or keep it, or had no room.
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

    /// Pieces of launched work that run now.
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
    /// One more. Handlers are used as they are: what swift-metrics has around them converts each number generically.
    func increment() { increment(by: 1) }
}

/// What one step of a stream told its client, counted under the session's lock and added to the metrics after it.
struct EventTally {
    var states: UInt32 = 0
    var patches: UInt32 = 0
    var labels: UInt32 = 0
    /// Labels among them that were told before.
    var replayed: UInt32 = 0
    var others: UInt32 = 0
    /// States that a stream was not told, since newer ones took their place.
    var conflated: UInt32 = 0
    var reset: ResetReason?

    /// All events.
    var events: UInt64 { UInt64(states) + UInt64(patches) + UInt64(labels) + UInt64(others) }

    /// The states and labels that were told since.
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

/// How a session's intents and appends are counted: where their results are known, each once. Turns are counted by the
/// store's meter, and with that of an intent the intent.
extension Session {
    /// An intent that was answered without a turn, or whose store is not at hand.
    func count(_ result: IntentResult, _ feature: FeatureID) {
        guard let ending = FeatureMetrics.IntentEnding(result) else { return }
        shared.metrics.of(feature.name)?.count(ending)
    }
}

/// The span of an append: a child of the first intent's in it; the others' are linked. A class, so that a batch that is
/// not traced has one empty reference.
final class AppendSpan: Sendable {
    private let span: any Span

    init(_ tracer: StoreTracer, _ session: Session, head: UInt64, _ results: ShortList<JobResult>) {
        var traces: [ServiceContext] = []
        for result in results {
            let trace = (result.job as? IntentJob)?.request.trace ?? (result.job as? StoreJob)?.context.trace
            if let trace { traces.append(trace) }
        }
        span = tracer.append(traces)
        span.attributes["mvi.session"] = session.id
        span.attributes["mvi.head"] = Int64(clamping: head)
        span.attributes["mvi.turns"] = Int64(results.count)
    }

    /// The journal has answered.
    func end(_ ending: AppendEnding) {
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
        case .duplicate: self = .duplicate
        case .failed: self = .failed
        case .unknown: self = .unknown
        }
    }
}
