import Locking
import MVI
import SessionJournal

/// Goes with an intent through its store where the commit is to do more than make it permanent: a receipt is written
/// with the turn, or the view state after exactly that turn is wanted.
@usableFromInline
final class PendingReply: Sendable {
    /// Names the receipt to write with the turn.
    let receipt: ReceiptKey?
    /// Nil if nobody wants it.
    private let wanted: Lock<[UInt8]?>?

    init(receipt: ReceiptKey?, wantsState: Bool) {
        self.receipt = receipt
        wanted = wantsState ? Lock(nil) : nil
    }

    /// Called in the commit, under the session's lock, with the view state after the turn.
    func committed(view: [UInt8]) { wanted?.withLock { $0 = view } }

    /// The view state after the turn, if it was wanted and is committed.
    var view: [UInt8]? { wanted?.withLock { $0 } ?? nil }
}
