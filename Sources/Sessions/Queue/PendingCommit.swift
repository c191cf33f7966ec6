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
        _ session: Session, _ batch: consuming JournalBatch, _ working: consuming SessionBatch, isKept: Bool,
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

    /// Ends the batch and its stores. The end has what the stores that live on are asked for.
    func end(_ outcome: CommitOutcome, _ end: EntryEnd) -> CommitEnd { (outcome, results, endEntries(end)) }

    private func endEntries(_ end: EntryEnd) -> [StoreEffects] {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return [] }
        var effects: [StoreEffects] = []
        // By the index: each entry would be copied.
        for index in entries.indices {
            guard let store = entries[index].store else { continue }
            switch (end, entries[index].isDisposed) {
            case (.committed, false):
                if !entries[index].effects.isEmpty {
                    effects.append(
                        StoreEffects(store, entries[index].effects, ofBootstrap: entries[index].bootstrapEffects))
                }
            case (.committed, true), (.ended, _): store.end()
            case (.rolledBack, _):
                store.runner.rollBack()
                // It never lived: observers know nothing of it.
                if !entries[index].isKept { store.scope.end() }
            }
        }
        return effects
    }
}
