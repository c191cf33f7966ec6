import MVI
import Locking
import SessionJournal
import Tracing

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
            let trace = (result.job as? IntentJob)?.request.trace ?? (result.job as? any TurnJob)?.trace
            if let trace { traces.append(trace) }
        }
        span = tracer.append(traces)
        span.attributes["mvi.session"] = session.id
        span.attributes["mvi.head"] = Int64(clamping: head)
        span.attributes["mvi.turns"] = Int64(results.count)
    }

    /// The journal has answered.
    func end(_ ending: AppendEnding) {
        span.attributes["mvi.append"] = ending.rawValue
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
