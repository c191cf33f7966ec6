import Locking
import MVI
import SessionJournal

/// What a batch needs before it can end.
enum BatchNeed {
    case nothing
    case append
    /// That nothing was appended elsewhere.
    case confirmation
    /// That this node may run work, which it may not.
    case lease
    /// That its clients are judged anew: access was changed since.
    case judgement
}

extension SessionCore {
    /// The batch, with what the journal is to know besides, and what it needs.
    mutating func takeBatch(
        _ session: Session, now: Duration, node: NodeID?
    ) -> (pending: PendingCommit, needs: BatchNeed) {
        var working = SessionBatch()
        swap(&working, &batch)
        let isShared = session.shared.lease != nil
        let isJudged = working.accessGeneration.map { $0 == accessGeneration } ?? true
        let beginning = isShared ? working.beginning : []
        // The journal is told of the owner with a turn.
        if working.count == 0, !ownsWork, !beginning.isEmpty { working.count = 1 }
        guard isJudged, working.count > 0 else {
            let needs: BatchNeed =
                isJudged ? (isShared && working.isAnswer ? .confirmation : .nothing) : .judgement
            // Turns without a number change nothing; what bootstrap had to do is done.
            if case .nothing = needs { for entry in working.entries where entry.hasStarted { started(entry) } }
            let nothing = JournalBatch(session: key ?? SessionKey(0), expecting: head, head: head, time: now)
            let pending = PendingCommit(
                session, nothing, working, isKept: key != nil, isOwners: ownsWork, isTraced: !isJudged)
            return (pending, needs)
        }
        var journal = JournalBatch(
            // One that is not kept yet gets its key before this is appended.
            session: key ?? SessionKey(0), expecting: head,
            head: SessionHead(number: head.number + working.count, nonce: nonces.next()), time: now,
            stores: working.changes, labels: working.labels, receipts: working.receipts,
            reminders: working.reminders ?? [], recordings: working.recordings,
            recordingLimit: session.shared.limits.recordedTurns,
            forgottenReceipts: receipts.forgotten, firstLabel: outbox.newFirst(after: head.number),
            forgottenLabels: Array(outbox.forgotten), lostLabels: outbox.lostIsNews ? outbox.lost : nil,
            epoch: epochIsNews ? epoch : nil)
        var needsNode = false
        if isShared {
            journal.expectedOwner = ownership.owner
            journal.expectedAccess = accessChanges
            (journal.ownerChange, needsNode) = ownerChange(
                working, beginning, head: journal.head, by: node, now: session.shared.time.monotonic())
        }
        let pending = PendingCommit(
            session, journal, working, isKept: key != nil, isOwners: ownsWork, isTraced: true)
        return (pending, needsNode ? .lease : .append)
    }
}
