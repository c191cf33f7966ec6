import Locking
import MVI

/// Goes with an intent through its store, and comes back with what the commit gave it.
final class PendingReply: Sendable {
    struct Commit: Sendable {
        let sequence: UInt64
        let version: UInt64
        let view: [UInt8]
    }

    /// The receipt to write with the turn.
    let receipt: ReceiptBook.Key?
    private let commit = Lock<Commit?>(nil)

    init(receipt: ReceiptBook.Key?) {
        self.receipt = receipt
    }

    /// Called in the commit, under the session's lock.
    func committed(_ commit: Commit) { self.commit.withLock { $0 = commit } }

    var committed: Commit? { commit.withLock { $0 } }
}
