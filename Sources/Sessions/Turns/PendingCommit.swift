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
    let needs: BatchNeed
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

    /// A batch of a session with that core.
    ///
    /// - Parameters:
    ///   - head: that of the log when it is appended.
    ///   - owner: what becomes of the session's.
    fileprivate init(
        _ session: Session, _ core: borrowing SessionCore, _ working: borrowing SessionBatch, _ needs: BatchNeed,
        head: SessionHead, owner: OwnerChange?, now: Duration
    ) {
        let isShared = session.shared.lease != nil
        self.session = session
        self.needs = needs
        (entries, results) = (working.entries, working.results)
        (isKept, isOwners) = (core.key != nil, core.ownsWork)
        // Made in its place: a parameter would be copied.
        batch = JournalBatch(
            // One that is not kept yet gets its key before this is appended.
            session: core.key ?? SessionKey(0), expecting: core.head, head: head, time: now,
            stores: working.changes, labels: working.labels, receipts: working.receipts,
            reminders: working.reminders, recordings: working.recordings,
            recordingLimit: session.shared.limits.recordedTurns, forgottenReceipts: core.receipts.forgotten,
            firstLabel: core.outbox.newFirst(after: core.head.number),
            forgottenLabels: Array(core.outbox.forgotten), lostLabels: core.outbox.lostIsNews ? core.outbox.lost : nil,
            epoch: core.epochIsNews ? core.epoch : nil, expectedOwner: isShared ? core.ownership.owner : nil,
            expectedAccess: isShared ? core.accessChanges : nil, ownerChange: owner)
        var tracer: StoreTracer?
        switch needs {
        case .nothing, .confirmation: break
        case .append, .lease, .judgement: tracer = session.shared.tracer
        }
        // Not by `map`: a closure would be given copies of all this.
        if let tracer { span = AppendSpan(tracer, session, head: head.number, working.results) } else { span = nil }
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
    mutating func takeBatch(_ session: Session, now: Duration, node: NodeID?) -> PendingCommit {
        var working = SessionBatch()
        swap(&working, &batch)
        let isShared = session.shared.lease != nil
        let beginning = isShared ? working.beginning : []
        // The journal is told of the owner with a turn.
        if working.count == 0, !ownsWork, !beginning.isEmpty { working.count = 1 }
        var (needs, next, owner) = (BatchNeed.append, head, OwnerChange?.none)
        if let judged = working.accessGeneration, judged != accessGeneration {
            needs = .judgement
        } else if working.count > 0 {
            next = SessionHead(number: head.number + working.count, nonce: nonces.next())
            if isShared {
                let (change, needsNode) = ownerChange(
                    working, beginning, head: next, by: node, now: session.shared.time.monotonic())
                owner = change
                if needsNode { needs = .lease }
            }
        } else if isShared, working.isAnswer {
            needs = .confirmation
        } else {
            needs = .nothing
            // Turns without a number change nothing; what bootstrap had to do is done.
            for entry in working.entries where entry.hasStarted { started(entry) }
        }
        return PendingCommit(session, self, working, needs, head: next, owner: owner, now: now)
    }
}
