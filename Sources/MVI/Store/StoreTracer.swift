import Tracing

/// Traces a store's turns and launched work. A class, so that stores without a tracer hold only a nil reference.
@usableFromInline
package final class StoreTracer: Sendable {
    private let tracer: any Tracer

    package init(_ tracer: any Tracer) { self.tracer = tracer }

    /// Runs a turn in its own span, which is the current span meanwhile.
    @usableFromInline
    func trace(
        _ context: TurnContext, in environment: StoreEnvironment, _ stage: Failure.Stage?,
        _ turn: (TurnContext) -> TurnResult
    ) -> TurnResult {
        let span = begin("turn", context.trace, context.intentID, in: environment)
        defer { span.end() }
        if let stage { span.attributes["mvi.stage"] = stage.name }
        let result = ServiceContext.$current.withValue(span.context) { turn(context.with(trace: span.context)) }
        if let failure = result.outcome.reported {
            span.recordError(failure.error)
            span.setStatus(SpanStatus(code: .error))
        }
        return result
    }

    private func begin(
        _ what: String, _ trace: ServiceContext?, _ intentID: IntentID, in environment: StoreEnvironment
    ) -> any Span {
        // The feature's name without the key, so that spans of one kind have one name.
        let feature = environment.instance.prefix { $0 != ":" }
        let span = tracer.startAnySpan("\(what) \(feature)", context: trace ?? .topLevel)
        span.attributes["mvi.feature"] = environment.instance
        span.attributes["mvi.session"] = environment.session.id
        span.attributes["mvi.intent"] = intentID.text
        return span
    }

    /// Returns the span of an append with turns of the given traces.
    package func append(_ traces: [ServiceContext]) -> any Span {
        let span = tracer.startAnySpan("append", context: traces.first ?? .topLevel, ofKind: .client)
        for trace in traces.dropFirst() { span.addLink(SpanLink(context: trace, attributes: [:])) }
        return span
    }

    /// Runs launched work in its own span, which is the current span meanwhile.
    package func trace(
        _ origin: WorkOrigin, _ id: WorkID?, in environment: StoreEnvironment, _ work: () async throws -> Void
    ) async throws {
        let span = begin("work", origin.trace, origin.intentID, in: environment)
        defer { span.end() }
        if let id { span.attributes["mvi.work"] = id.description }
        do {
            try await ServiceContext.$current.withValue(span.context) { try await work() }
        } catch {
            if !(error is CancellationError) {
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error))
            }
            throw error
        }
    }
}

/// Measures stores for the server's metrics. Its methods are called from any thread, never with a lock held, and must
/// not block.
@usableFromInline
package protocol StoreMeter: AnyObject, Sendable {
    /// A turn ran. The duration includes interceptors, `view` and encoding. A turn that runs again after a conflict
    /// counts again.
    func turnTook(_ nanoseconds: UInt64)
    /// A turn was committed.
    func turnCommitted(_ kind: TurnKind)
    /// A piece of launched work began or ended.
    func workBegan()
    func workEnded()
}

/// The kind of a turn.
@usableFromInline
package enum TurnKind: Int, CaseIterable, Sendable {
    case intent, bootstrap, work, other
}
