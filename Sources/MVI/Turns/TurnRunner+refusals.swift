extension TurnRunner {
    @usableFromInline
    func pendingCheck(of intent: F.Intent) -> PendingCheck {
        { runner, context in
            await (runner as? TurnRunner<F>)?.judge(intent, context) ?? TurnRunner.execute(intent)
        }
    }

    /// Runs the interceptors, then the check. A refused intent is not checked.
    private func judge(_ intent: F.Intent, _ context: TurnContext) async -> RunTurn {
        var intent = intent
        if !interceptors.isEmpty, let refused = intercept(&intent, context, isInTurn: false) {
            return refused.judged ?? Self.standing(refused)
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
            return Self.standing(refusal, of: intent)
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
            principal: context.principal, client: context.client, now: environment.now())
    }

    /// Returns a turn with a fixed result for each run of the batch.
    private static func standing(_ result: TurnResult) -> RunTurn { { _, _ in result } }

    /// Returns the turn of a refused intent. Its recording has the state at its place in the batch.
    private static func standing(_ refusal: Refusal, of intent: F.Intent) -> RunTurn {
        { runner, context in
            guard let runner = runner as? TurnRunner<F> else { return .ofAnotherFeature }
            return TurnResult(
                .refused(StoreError(refusal)), observe: runner.telling([.refused(intent, refusal)], context),
                recording: runner.recording(of: intent, refused: refusal, .checked, context))
        }
    }

    /// Returns the result of a turn that threw.
    ///
    /// - Parameter hasRun: true if the code completed and its result cannot be stored.
    @usableFromInline
    func threw(
        _ error: any Error, _ context: TurnContext, _ stage: Failure.Stage?, _ cause: StoreObservation<F>.Event?,
        _ rare: DeferredRequests<F>?, _ judged: RunTurn?, hasRun: Bool
    ) -> TurnResult {
        func result(_ outcome: TurnOutcome, _ events: [StoreObservation<F>.Event] = []) -> TurnResult {
            TurnResult(outcome, observe: telling(events, context), judged: judged, inputs: rare?.inputs)
        }
        if let missing = rare?.missing { return result(.needsStore(missing)) }
        var intent: F.Intent?
        if case .intent(let executed)? = cause { intent = executed }
        if stage == .execute, let refusal = error as? Refusal {
            return TurnResult(
                .refused(StoreError(refusal)),
                observe: telling(intent.map { [.refused($0, refusal)] } ?? [], context), judged: judged,
                inputs: rare?.inputs,
                recording: intent.flatMap {
                    recording(of: $0, refused: refusal, rare?.kind ?? .intent, context, rare)
                })
        }
        let told = error as? StoreError
        // Another store is not available, or another log. The feature is not at fault.
        if stage != nil, let told, !hasRun || told.code == .busy { return result(.unavailable(told)) }
        let failure = Failure(stage: stage ?? .execute, intentID: context.intentID, intent: intent, error: error)
        let reported = stage == nil ? nil : failure
        return result(
            .failed((hasRun ? told : nil) ?? StoreError(failure), thrown: error, reported),
            reported.map { (cause.map { [$0] } ?? []) + [.failed($0)] } ?? [])
    }

    /// The recording of a refused intent; nil if its turn is not recorded, or if another store sent it: that one's turn is
    /// undone with it.
    ///
    /// - Parameter rare: that of the turn, if it ran.
    private func recording(
        of intent: F.Intent, refused refusal: Refusal, _ kind: TurnFacts.Kind, _ context: TurnContext,
        _ rare: DeferredRequests<F>? = nil
    ) -> [UInt8]? {
        guard isRecorded(context), !context.isSent else { return nil }
        let state = copies.withLock { ($0.working ?? $0.head).state }
        var turn = Turn(
            runner: self, state: state, context: context, cause: intent, origin: nil, hasPartWork: false)
        let facts = turn.makeRare()
        (facts.cause, facts.start, facts.kind) = (intent, rare?.start, kind)
        (facts.now, facts.uuids, facts.uuidCount) = (rare?.now, rare?.uuids ?? [], rare?.uuidCount ?? 0)
        facts.reads = rare?.reads ?? []
        facts.refusal = (refusal.code.map { "\($0): " } ?? "") + refusal.detail
        return try? output(turn, feature.view(state), false).recording
    }

    /// Runs the interceptors, which may rewrite the intent; returns the result if one refuses it.
    ///
    /// - Parameter isInTurn: true if the interceptors see the changes of the batch's earlier turns. An asynchronous
    ///   check runs outside of any batch.
    @usableFromInline
    func intercept(_ intent: inout F.Intent, _ context: TurnContext, isInTurn: Bool = true) -> TurnResult? {
        let interception = Interception<F>(
            state: copies.withLock { (isInTurn ? $0.working ?? $0.head : $0.head).state }, intentID: context.intentID,
            instance: environment.instance, session: environment.session, principal: context.principal,
            trace: context.trace)
        for interceptor in interceptors {
            do {
                intent = try interceptor(intent, interception)
            } catch let refusal as Refusal {
                let judged = Self.standing(refusal, of: intent)
                let result = judged(self, context)
                return TurnResult(
                    result.outcome, observe: result.observe, judged: judged, recording: result.recording)
            } catch {
                // An error of an interceptor is not a decision. The intent must not run without its check.
                let refusal = Refusal(.forbidden, "The intent could not be checked, so it was not run.")
                let failure = Failure(stage: .execute, intentID: context.intentID, intent: intent, error: error)
                return standing(
                    .unjudged(StoreError(refusal), failure), [.refused(intent, refusal), .failed(failure)], context)
            }
        }
        return nil
    }

    /// Returns a fixed result for each run of the batch.
    private func standing(
        _ outcome: TurnOutcome, _ events: [StoreObservation<F>.Event], _ context: TurnContext
    ) -> TurnResult {
        let result = TurnResult(outcome, observe: telling(events, context))
        return TurnResult(outcome, observe: result.observe, judged: { _, _ in result })
    }
}
