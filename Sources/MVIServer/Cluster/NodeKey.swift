import Locking
import MVI
import SessionJournal
import Sessions

/// The seal for requests between nodes, available after the journal's secret has been read.
final class NodeKey: Sendable {
    private struct State {
        var seal: NodeSeal?
        var isAsking = false
        var waiters: [@Sendable (Result<NodeSeal, StoreError>) -> Void] = []
    }

    private let journal: any Journal
    private let time: TimeSource
    private let state = Lock(State())

    /// Creates a key and starts reading the journal's secret, to have it at the first request.
    init(_ journal: any Journal, _ time: TimeSource) {
        (self.journal, self.time) = (journal, time)
        ask { _ in }
    }

    /// Reads the secret again, since it may have changed. After a failure the last seal stays.
    func refresh() {
        journal.secret { [self] result in
            guard let secret = try? result.get() else { return }
            let seal = NodeSeal(secret, now: time.sinceEpoch())
            state.withLock { $0.seal = seal }
        }
    }

    /// The seal; nil before the secret has been read, which this starts.
    var known: NodeSeal? {
        if let seal = state.withLock({ $0.seal }) { return seal }
        ask { _ in }
        return state.withLock { $0.seal }
    }

    /// Returns the seal after the journal's secret has been read.
    func seal() async throws(StoreError) -> NodeSeal { try await awaitResult { ask($0) }.get() }

    private func ask(_ done: @escaping @Sendable (Result<NodeSeal, StoreError>) -> Void) {
        let (seal, isFirst) = state.withLock { state -> (NodeSeal?, Bool) in
            if let seal = state.seal { return (seal, false) }
            state.waiters.append(done)
            defer { state.isAsking = true }
            return (nil, !state.isAsking)
        }
        if let seal { return done(.success(seal)) }
        guard isFirst else { return }
        journal.secret { [self] result in
            let result = result.map { NodeSeal($0, now: time.sinceEpoch()) }
            let waiters = state.withLock { state in
                state.seal = try? result.get()
                state.isAsking = false
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter(result) }
        }
    }
}
