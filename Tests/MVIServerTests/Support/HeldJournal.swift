import Locking
import MVI
import MVITesting
import Sessions

/// A journal that a test can make slow, or let fail.
final class HeldJournal: Journal {
    private struct State {
        var isHolding = false
        var isWritable = true
        var failure: CommitFailure?
        var held: [@Sendable (AppendResult) -> Void] = []
    }

    private let state = Lock(State())
    private let arrival = Gate()

    var isWritable: Bool { state.withLock { $0.isWritable } }

    func append(_ append: JournalAppend, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        let result = state.withLock { state -> AppendResult? in
            if let failure = state.failure { return .failed(failure) }
            guard state.isHolding else { return .committed }
            state.held.append(done)
            return nil
        }
        if result == nil { arrival.open() }
        return result
    }

    func hold() { state.withLock { $0.isHolding = true } }

    func fail(_ code: CommitFailure.Code) {
        state.withLock {
            $0.failure = CommitFailure(code, "a test wants it so")
            $0.isWritable = false
        }
    }

    /// Returns when the first commit is held.
    func untilHeld() async throws { try await arrival.wait() }

    /// Commits what is held, and whatever comes.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for done in held { done(.committed) }
    }
}
