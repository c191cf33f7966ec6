/// The context of a part's launched work. Each of its steps is a turn and returns after its commit.
///
/// It may be used from any task. If the part is gone, a step does nothing but to cancel the work; the store's
/// diagnostics count it.
public struct PartWork<P: Part>: Sendable {
    private let context: WorkContext
    private let read: @Sendable () -> P?
    private let first: @Sendable (_ isMet: @escaping @Sendable (P) -> Bool) async throws -> P
    private let step: @Sendable (@escaping @Sendable (inout PartTurn<P>) -> Void) async -> Void

    init<F: Feature>(_ work: Work<F>, at place: PartPlace<F.State, F.Message, P>) {
        context = work.context
        read = { place.read(work.state) }
        step = { body in
            await work.turn { turn in
                let isThere = turn.part(at: place) { part in body(&part) }
                if !isThere { turn.effects.append(.cancelParts([place.name])) }
            }
        }
        first = { [step] isMet in
            let state = try await work.state(where: { place.read($0).map(isMet) ?? true })
            guard let part = place.read(state) else {
                // It cancels the work, unless the turn that removed the part has.
                await step { _ in }
                throw CancellationError()
            }
            return part
        }
    }

    /// The intent that launched this work.
    public var intentID: IntentID { context.origin.intentID }

    /// The time on the wall clock now.
    public var now: Timestamp { context.host.environment.now() }

    /// The part's state now; nil if it is gone.
    public var state: P? { read() }

    /// Returns the part's first state of which a condition holds, as `Work.state(where:)` does.
    ///
    /// - Throws: `CancellationError` if the part has left its list or the work is cancelled first.
    public func state(where isMet: @escaping @Sendable (P) -> Bool) async throws -> P { try await first(isMet) }

    /// A step with one message.
    public func dispatch(_ message: P.Message) async {
        await turn { $0.dispatch(message) }
    }

    /// Several things in one step: all of them are kept, or none.
    public func turn(_ body: @escaping @Sendable (inout PartTurn<P>) -> Void) async { await step(body) }

    /// Waits on the store's clock, as `Work.sleep` does.
    public func sleep(for duration: Duration) async throws { try await context.sleep(for: duration) }

    /// Runs `operation` until it succeeds, as `Work.retry` does.
    public nonisolated(nonsending) func retry<Success>(
        attempts: Int, backoff: Backoff = .exponential(), if isRetried: (any Error) -> Bool = { _ in true },
        _ operation: nonisolated(nonsending) () async throws -> Success
    ) async throws -> Success {
        try await context.retry(attempts: attempts, backoff: backoff, if: isRetried, operation)
    }

    /// Runs `operation` and cancels it when its time is up, as `Work.timeout` does.
    public func timeout<Success: Sendable>(
        after limit: Duration, _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await context.timeout(after: limit, operation)
    }
}
