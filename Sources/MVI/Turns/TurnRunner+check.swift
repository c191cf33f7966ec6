extension TurnRunner {
    /// The asynchronous check that an intent has to pass before it is enqueued; nil if there is none.
    @inlinable
    package func check(_ intent: F.Intent) -> PendingCheck? {
        feature.check(intent) == nil ? nil : pendingCheck(of: intent)
    }

    @usableFromInline
    func pendingCheck(of intent: F.Intent) -> PendingCheck {
        { runner, context in
            guard let runner = runner as? TurnRunner<F> else { return { _, _ in .ofAnotherFeature } }
            return await runner.judge(intent, context)
        }
    }

    /// Interceptors come before the check: an intent that they refuse is not checked.
    private func judge(_ intent: F.Intent, _ context: TurnContext) async -> RunTurn {
        var intent = intent
        if !middleware.interceptors.isEmpty, let refused = intercept(&intent, context, isInTurn: false) {
            return Self.standing(refused)
        }
        do {
            switch try await feature.check(intent)?(checkContext(context)) {
            case .execute?, nil:
                return Self.execute(intent, isJudged: true)
            case .perform(let action)?:
                return { [intent] runner, context in
                    guard let runner = runner as? TurnRunner<F> else { return .ofAnotherFeature }
                    return runner.run(context, stage: .execute, cause: .intent(intent)) { $0.send(action) }
                }
            }
        } catch let refusal as Refusal {
            return Self.standing(
                TurnResult(.refused(StoreError(refusal)), observe: telling([.refused(intent, refusal)], context)))
        } catch let error as StoreError {
            return Self.standing(TurnResult(.unavailable(error)))
        } catch {
            let failure = Failure(stage: .check, intentID: context.intentID, error: error)
            return Self.standing(
                TurnResult(
                    .failed(StoreError(failure), thrown: error, failure),
                    observe: telling([.intent(intent), .failed(failure)], context)))
        }
    }

    private func checkContext(_ context: TurnContext) -> CheckContext<F> {
        CheckContext(
            state: state, intentID: context.intentID, instance: environment.instance, session: environment.session,
            principal: context.principal, now: environment.now())
    }

    /// A result that stands, however often the intent's batch is run.
    private static func standing(_ result: TurnResult) -> RunTurn { { _, _ in result } }
}
