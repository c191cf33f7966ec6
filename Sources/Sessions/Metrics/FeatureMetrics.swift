import CoreMetrics
import MVI
import Synchronization

/// What the stores of one feature count and measure.
package final class FeatureMetrics: StoreMeter {
    /// What became of an intent that was sent to a session.
    package enum IntentEnding: String, CaseIterable, Sendable {
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
                label: "mvi_intents_total", dimensions: [("feature", feature), ("outcome", $0.rawValue)])
        }
        turns = TurnKind.allCases.map {
            factory.makeCounter(label: "mvi_turns_total", dimensions: [("feature", feature), ("kind", $0.rawValue)])
        }
        turnTime = factory.makeTimer(label: "mvi_turn_duration_seconds", dimensions: [("feature", feature)])
    }

    /// Pieces of launched work that run now.
    package var runningWork: Int { running.load(ordering: .relaxed) }

    package func turnTook(_ nanoseconds: UInt64) { turnTime.recordNanoseconds(Int64(clamping: nanoseconds)) }
    package func turnCommitted(_ kind: TurnKind) {
        switch kind {
        case .intent:
            turns[0].increment()
            count(.committed)
        case .bootstrap: turns[1].increment()
        case .work: turns[2].increment()
        case .other: turns[3].increment()
        }
    }

    package func workBegan() { running.wrappingAdd(1, ordering: .relaxed) }
    package func workEnded() { running.wrappingSubtract(1, ordering: .relaxed) }

    func count(_ ending: IntentEnding) {
        switch ending {
        case .committed: intents[0].increment()
        case .repeated: intents[1].increment()
        case .refused: intents[2].increment()
        case .invalid: intents[3].increment()
        case .conflict: intents[4].increment()
        case .failed: intents[5].increment()
        }
    }
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
