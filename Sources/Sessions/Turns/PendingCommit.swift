import Locking
import MVI
import SessionJournal
import Synchronization

/// A batch that was taken to be committed, until its end.
///
/// It owns the stores that the batch touched. `end` ends all of them, once; a batch that is forgotten rolls them back when
/// it dies.
final class PendingCommit: Sendable {
    let session: Session
    let batch: JournalBatch
    let entries: [SessionBatch.Entry]
    let results: ShortList<JobResult>
    /// Whether the journal has the session already.
    let isKept: Bool
    /// Whether the session's work ran here.
    let isOwners: Bool
    /// When it was taken to be appended; see `monotonicNanoseconds`.
    let begun = monotonicNanoseconds()
    /// Of the append; nil where nothing is traced.
    let span: AppendSpan?
    private let isOver = Atomic(false)
    private let doubts = Atomic(0)

    /// How the stores of a batch end.
    enum EntryEnd {
        /// The turns are kept.
        case committed
        /// Nothing of them is kept: the stores are back at their heads, those that the batch made are gone.
        case rolledBack
        /// The session has ended, whatever was kept.
        case ended
    }

    /// - Parameter isTraced: whether it is appended.
    init(
        _ session: Session, _ batch: JournalBatch, _ working: SessionBatch, isKept: Bool,
        isOwners: Bool, isTraced: Bool
    ) {
        self.isOwners = isOwners
        self.session = session
        self.batch = batch
        entries = working.entries
        results = working.results
        self.isKept = isKept
        // Not by `map`: a closure would be given copies of all this.
        if isTraced, let tracer = session.shared.tracer {
            span = AppendSpan(tracer, session, head: self.batch.head.number, results)
        } else {
            span = nil
        }
    }

    deinit { _ = endEntries(.rolledBack) }

    /// Counts an append whose outcome was unknown and that was not kept. Returns how many there were before.
    func noteDoubt() -> Int { doubts.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Ends the batch and its stores.
    func end(_ outcome: CommitOutcome, _ end: EntryEnd) -> CommitEnd { (outcome, results, endEntries(end)) }

    private func endEntries(_ end: EntryEnd) -> [SessionBatch.Entry] {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return [] }
        // By the index: each entry would be copied.
        for index in entries.indices {
            guard let store = entries[index].store else { continue }
            switch (end, entries[index].isDisposed) {
            case (.committed, false): break
            case (.committed, true), (.ended, _): store.end()
            case (.rolledBack, _):
                store.runner.rollBack()
                // It never lived: observers know nothing of it.
                if !entries[index].isKept { store.scope.end() }
            }
        }
        if case .committed = end { return entries }
        return []
    }
}

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
        let next = SessionHead(number: head.number + working.count, nonce: nonces.next())
        var (change, needsNode): (OwnerChange?, Bool) = (nil, false)
        if isShared {
            (change, needsNode) = ownerChange(
                working, beginning, head: next, by: node, now: session.shared.time.monotonic())
        }
        // No variable: what is made for an argument is not copied.
        let pending = PendingCommit(
            session,
            JournalBatch(
                // One that is not kept yet gets its key before this is appended.
                session: key ?? SessionKey(0), expecting: head, head: next, time: now,
                stores: working.changes, labels: working.labels, receipts: working.receipts,
                reminders: working.reminders ?? [], recordings: working.recordings,
                recordingLimit: session.shared.limits.recordedTurns,
                forgottenReceipts: receipts.forgotten, firstLabel: outbox.newFirst(after: head.number),
                forgottenLabels: Array(outbox.forgotten), lostLabels: outbox.lostIsNews ? outbox.lost : nil,
                epoch: epochIsNews ? epoch : nil, expectedOwner: isShared ? ownership.owner : nil,
                expectedAccess: isShared ? accessChanges : nil, ownerChange: change),
            working, isKept: key != nil, isOwners: ownsWork, isTraced: true)
        return (pending, needsNode ? .lease : .append)
    }
}
