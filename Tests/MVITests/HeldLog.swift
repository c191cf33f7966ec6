import Locking
import MVI
import MVITesting

/// A turn log that holds each commit until the test decides it.
final class HeldLog<F: Feature>: TurnLog {
    private struct Held {
        let turns: [TurnRecord<F>]
        let done: @Sendable (CommitResult<F>) -> Void
    }

    private let held = Lock<[Held]>([])
    private let commits = Collected<[TurnRecord<F>]>()

    /// The batches that were handed over so far.
    var batches: [[TurnRecord<F>]] { commits.all }

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        held.withLock { $0.append(Held(turns: turns, done: done)) }
        commits.append(turns)
        return nil
    }

    /// Returns when that many batches in all were handed over.
    func batches(atLeast count: Int) async {
        await commits.atLeast(count)
    }

    /// Ends the commit that is in flight.
    func end(_ result: CommitResult<F> = .committed) {
        let next = held.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        next?.done(result)
    }
}

/// A turn log that answers at once, with what the test has prepared and then with `committed`.
final class PreparedLog<F: Feature>: TurnLog {
    private let results: Lock<[CommitResult<F>]>
    let commits = Collected<[TurnRecord<F>]>()

    init(_ results: [CommitResult<F>]) { self.results = Lock(results) }

    /// Prepares what comes next.
    func next(_ results: CommitResult<F>...) { self.results.withLock { $0 = results } }

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        commits.append(turns)
        return results.withLock { $0.isEmpty ? .committed : $0.removeFirst() }
    }
}

extension CommitResult {
    static var unavailable: CommitResult { .failed(StoreError(.unavailable, "The disk is gone.")) }
}
