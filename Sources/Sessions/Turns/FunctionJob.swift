import MVI

/// A job that is a function, which adds its result to the batch itself.
final class FunctionJob: QueueJob {
    let lane: JobLane
    private let body: @Sendable (FunctionJob) -> Void
    private let completion: @Sendable (Result<Bool, StoreError>) -> Void

    /// - Parameter completion: called once: with true if something was committed, or with the error.
    init(
        _ lane: JobLane, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void = { _ in },
        _ body: @escaping @Sendable (FunctionJob) -> Void
    ) {
        self.lane = lane
        self.body = body
        self.completion = completion
    }

    func run() -> WaitingJob? {
        body(self)
        return nil
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        completion(result.outcome.error.map { .failure($0) } ?? .success(result.isKept))
    }

    func end(_ error: StoreError) { completion(.failure(error)) }
}

extension Session {
    /// Changes the next batch, as a job of its own.
    ///
    /// - Parameters:
    ///   - judge: returns, under no lock, the reason to change nothing; nil to go on.
    ///   - done: called once: with true if something was committed, or with the error.
    ///   - change: returns true if there is something to commit.
    func enqueue(
        _ lane: JobLane, unless judge: @escaping @Sendable () -> TurnOutcome? = { nil },
        done: @escaping @Sendable (Result<Bool, StoreError>) -> Void = { _ in },
        _ change: @escaping @Sendable (inout SessionCore) -> Bool
    ) {
        enqueue(
            FunctionJob(lane, completion: done) { [self] job in
                let outcome = judge()
                core.withLock { core in
                    if lane == .intents { core.batch.isAnswer = true }
                    let isKept = outcome == nil && change(&core)
                    core.joinOther(job, outcome ?? .ran, isKept: isKept)
                }
            })
    }
}
