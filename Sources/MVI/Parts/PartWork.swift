/// The context of a part's launched work. Each step is a turn of its own and returns after the commit.
///
/// It can be used from any task. If the part is gone, a step only cancels the work; the store's diagnostics count it.
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
                // Cancels the work, unless the turn that removed the part did.
                await step { _ in }
                throw CancellationError()
            }
            return part
        }
    }

    /// The id of the intent that launched this work.
    public var intentID: IntentID { context.origin.intentID }

    /// The present time on the wall clock.
    public var now: Timestamp { context.host.environment.now() }

    /// The part's present state; nil if the part is gone.
    public var state: P? { read() }

    /// Returns the part's first state that fulfills a condition, as `Work.state(where:)` does.
    ///
    /// - Throws: `CancellationError` if the part leaves its list or the work is canceled first.
    public func state(where isMet: @escaping @Sendable (P) -> Bool) async throws -> P { try await first(isMet) }

    /// Dispatches a message in one step.
    public func dispatch(_ message: P.Message) async {
        await turn { $0.dispatch(message) }
    }

    /// Runs a body as one step, which is committed whole or not at all.
    public func turn(_ body: @escaping @Sendable (inout PartTurn<P>) -> Void) async { await step(body) }

    /// Waits on the store's clock, as `Work.sleep` does.
    public func sleep(for duration: Duration) async throws { try await context.sleep(for: duration) }

    func noteFirstResult() { context.noteFirstResult() }

    /// Runs `operation` until it succeeds, as `Work.retry` does.
    public nonisolated(nonsending) func retry<Success>(
        attempts: Int, backoff: Backoff = .exponential(), if isRetried: (any Error) -> Bool = { _ in true },
        _ operation: nonisolated(nonsending) () async throws -> Success
    ) async throws -> Success {
        try await context.retry(attempts: attempts, backoff: backoff, if: isRetried, operation)
    }

    /// Runs `operation` and cancels it after a time limit, as `Work.timeout` does.
    public func timeout<Success: Sendable>(
        after limit: Duration, _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await context.timeout(after: limit, operation)
    }
}
