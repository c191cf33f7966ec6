import Locking
import SessionJournal

/// The tokens of sessions in memory by what the journal calls them, where other processes append to the same journal.
final class SessionIndex: Sendable {
    private let tokens = Lock<[SessionKey: TokenHash]>([:])

    func add(_ key: SessionKey, _ token: TokenHash) { tokens.withLock { $0[key] = token } }

    /// A session leaves memory.
    func remove(_ key: SessionKey) { tokens.withLock { _ = $0.removeValue(forKey: key) } }

    subscript(key: SessionKey) -> TokenHash? { tokens.withLock { $0[key] } }
}
