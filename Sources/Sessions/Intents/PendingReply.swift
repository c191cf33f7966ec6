import Locking
import MVI
import SessionJournal

/// Goes with an intent through its store, and comes back with what the commit gave it.
@usableFromInline
final class PendingReply: Sendable {
    struct Commit: Sendable {
        let version: UInt64
        let view: [UInt8]
    }

    /// Names the receipt to write with the turn.
    let receipt: ReceiptKey?
    private let commit = Lock<Commit?>(nil)

    init(receipt: ReceiptKey?) {
        self.receipt = receipt
    }

    /// Called in the commit, under the session's lock.
    func committed(_ commit: Commit) { self.commit.withLock { $0 = commit } }

    var committed: Commit? { commit.withLock { $0 } }
}
