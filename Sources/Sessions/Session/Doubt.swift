import Locking
import MVI

/// The time until the journal tells the newest turns of a session. If it is long, clients that wait are answered without them.
final class Doubt: Sendable {
    /// A restart of the database takes less.
    static let patience: Duration = .seconds(2)

    private enum State {
        case open
        /// Clients are being answered. What the journal tells is handled after that.
        case answering(SessionNews?)
        case answered, over
    }

    private let state = Lock(State.open)

    var isOpen: Bool { state.withLock { if case .open = $0 { true } else { false } } }

    /// Returns true if the news are to be handled now.
    func end(with news: SessionNews) -> Bool {
        state.withLock { state in
            if case .answering = state {
                state = .answering(news)
                return false
            }
            state = .over
            return true
        }
    }

    func beginAnswers() -> Bool {
        state.withLock { state in
            guard case .open = state else { return false }
            state = .answering(nil)
            return true
        }
    }

    /// Returns what came meanwhile, to be handled now.
    func endAnswers() -> SessionNews? {
        state.withLock { state in
            guard case .answering(let news) = state else { return nil }
            state = news == nil ? .answered : .over
            return news
        }
    }
}

extension StoreError {
    static let journalIsLate = StoreError(
        .unavailable, "The journal does not tell the session's last turns yet.")
}
