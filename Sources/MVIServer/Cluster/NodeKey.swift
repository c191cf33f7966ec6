import Locking
import MVI
import SessionJournal
import Sessions

/// The seal of requests between nodes, once the journal has said its secret.
final class NodeKey: Sendable {
    private struct State {
        var seal: NodeSeal?
        var isAsking = false
        var waiters: [@Sendable (Result<NodeSeal, StoreError>) -> Void] = []
    }

    private let journal: any Journal
    private let time: TimeSource
    private let state = Lock(State())

    /// A key that asks the journal at once, so that the first request finds it there.
    init(_ journal: any Journal, _ time: TimeSource) {
        (self.journal, self.time) = (journal, time)
        ask { _ in }
    }

    /// Asks the journal again: its key may be another one. If it cannot be read the last seal stays.
    func refresh() {
        journal.secret { [self] result in
            guard let secret = try? result.get() else { return }
            let seal = NodeSeal(secret, now: time.sinceEpoch())
            state.withLock { $0.seal = seal }
        }
    }

    /// The seal if it is there; if not the journal is asked for it.
    var known: NodeSeal? {
        if let seal = state.withLock({ $0.seal }) { return seal }
        ask { _ in }
        return state.withLock { $0.seal }
    }

    /// The seal, when the journal has said its secret.
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
