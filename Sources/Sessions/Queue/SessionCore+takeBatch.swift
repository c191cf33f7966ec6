import Locking
import MVI
import SessionJournal

/// What a batch needs before it can end.
enum BatchNeed {
    case nothing
    /// That nothing was appended elsewhere.
    case confirmation
    /// That this node may run work, which it may not.
    case lease
    /// That its clients are judged anew: access was changed since.
    case judgement
}

extension SessionCore {
    /// The batch, with what the journal is to know besides; no commit if its turns take no number.
    mutating func takeBatch(
        _ session: Session, now: Duration, node: NodeID?
    ) -> (pending: PendingCommit?, results: ShortList<JobResult>, needs: BatchNeed) {
        var working = SessionBatch()
        swap(&working, &batch)
        if let judged = working.accessGeneration, judged != accessGeneration {
            let nothing = JournalBatch(session: key ?? SessionKey(0), expecting: head, head: head, time: now)
            let pending = PendingCommit(session, nothing, working, isKept: key != nil, isOwners: ownsWork)
            return (pending, [], .judgement)
        }
        let isShared = session.shared.lease != nil
        let beginning = isShared ? working.beginning : []
        // The journal is told of the owner with a turn.
        if working.count == 0, !ownsWork, !beginning.isEmpty { working.count = 1 }
        guard working.count > 0 else {
            if isShared, working.isAnswer { return (nil, working.results, .confirmation) }
            // Turns without a number change nothing; what bootstrap had to do is done.
            for store in working.stores where store.hasStarted { started(store.feature) }
            return (nil, working.results, .nothing)
        }
        var journal = JournalBatch(
            // One that is not kept yet gets its key before this is appended.
            session: key ?? SessionKey(0), expecting: head,
            head: SessionHead(number: head.number + working.count, nonce: nonces.next()), time: now,
            stores: working.changes, labels: working.labels, receipts: working.receipts,
            reminders: working.reminders ?? [], recordings: working.recordings,
            recordingLimit: session.shared.limits.recordedTurns,
            forgottenReceipts: receipts.forgotten, firstLabel: outbox.newFirst(after: head.number),
            lostLabels: outbox.lostIsNews ? outbox.lost : nil, epoch: epochIsNews ? epoch : nil)
        var needsNode = false
        if isShared {
            journal.expectedOwner = ownership.owner
            journal.expectedAccess = accessChanges
            (journal.ownerChange, needsNode) = ownerChange(
                working, beginning, head: journal.head, by: node, now: session.shared.time.monotonic())
        }
        return (
            PendingCommit(session, journal, working, isKept: key != nil, isOwners: ownsWork), [],
            needsNode ? .lease : .nothing
        )
    }
}
