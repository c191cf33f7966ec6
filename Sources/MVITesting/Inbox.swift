import Locking
import MVI

/// What a store under test did and the test has not asserted yet. It is the store's turn log, so that it has each
/// turn, in order, before a test can wait for it.
final class Inbox<F: Feature>: TurnLog {
    struct Reduced: Sendable {
        let message: F.Message
        let before: F.State
        let after: F.State
    }

    private struct State {
        var messages: [Reduced] = []
        var labels: [F.Label] = []
        var failures: [Failure] = []
    }

    private let state = Lock(State())
    private let signal: Signal

    /// Tells `signal` of everything that comes.
    init(signal: Signal) { self.signal = signal }

    var messages: [Reduced] { state.withLock { $0.messages } }
    var labels: [F.Label] { state.withLock { $0.labels } }
    var failures: [Failure] { state.withLock { $0.failures } }

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>? {
        state.withLock { state in
            for event in turns.lazy.flatMap({ $0.events }) {
                switch event {
                case .message(let message, let before, let after):
                    state.messages.append(Reduced(message: message, before: before, after: after))
                case .label(let label): state.labels.append(label)
                default: break
                }
            }
        }
        signal.send()
        return .committed
    }

    func report(_ report: StoreReport) {
        guard case .failure(let failure, _) = report else { return }
        state.withLock { $0.failures.append(failure) }
        signal.send()
    }

    /// Takes the first message of which `isExpected` holds, with those before it if there is one; else nothing.
    func takeMessage(where isExpected: (F.Message) -> Bool) -> Reduced? {
        state.withLock { state in
            guard let index = state.messages.firstIndex(where: { isExpected($0.message) }) else { return nil }
            let found = state.messages[index]
            state.messages.removeFirst(index + 1)
            return found
        }
    }

    /// The same for labels.
    func takeLabel(where isExpected: (F.Label) -> Bool) -> F.Label? {
        state.withLock { state in
            guard let index = state.labels.firstIndex(where: isExpected) else { return nil }
            let found = state.labels[index]
            state.labels.removeFirst(index + 1)
            return found
        }
    }

    /// Takes the first failure, or the first that came of that intent.
    @discardableResult
    func takeFailure(of intentID: IntentID? = nil) -> Failure? {
        state.withLock { state in
            let index = state.failures.firstIndex { intentID == nil || $0.intentID == intentID }
            return index.map { state.failures.remove(at: $0) }
        }
    }

    func removeAll() {
        state.withLock { $0 = State() }
    }
}
