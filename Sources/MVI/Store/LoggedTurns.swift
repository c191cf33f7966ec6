import Locking

/// The turns of a store on its own on their way to its log.
@usableFromInline
final class LoggedTurns<F: Feature>: Sendable {
    private let log: any TurnLog<F>
    private let batch = Lock<[TurnRecord<F>]>([])

    @usableFromInline
    init(_ log: any TurnLog<F>) { self.log = log }

    /// Adds a turn to the batch that runs.
    @usableFromInline
    func append(_ turn: TurnRecord<F>) { batch.withLock { $0.append(turn) } }

    /// Commits the batch's turns, then the runner's head; nil if `then` will be called later.
    @usableFromInline
    func commit(_ runner: TurnRunner<F>, then: @escaping @Sendable (CommitOutcome) -> Void) -> CommitOutcome? {
        let turns = batch.withLock { batch in
            defer { batch = [] }
            return batch
        }
        if turns.isEmpty { return .committed }
        return log.commit(turns) { [self] in then(end($0, runner)) }.map { end($0, runner) }
    }

    private func end(_ result: CommitResult<F>, _ runner: TurnRunner<F>) -> CommitOutcome {
        switch result {
        case .committed:
            runner.commit()
            return .committed
        case .conflict(let newer):
            runner.adopt(newer)
            return .conflict
        case .failed(let error):
            runner.rollBack()
            return .failed(error)
        }
    }
}
