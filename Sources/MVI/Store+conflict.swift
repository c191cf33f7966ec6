import Locking

extension Store {
    /// Another writer of the same store was first: its state is the head now, and the batch is run again on it, from
    /// each job's first `execute`, before anything that came later.
    ///
    /// `conflicts` is how often in a row this batch was too slow, this time included.
    @usableFromInline
    func conflicted(_ batch: [Ran<F>], _ newer: F.State, conflicts: Int) {
        // The state is not this store's initial one any more: another writer began the store's life.
        let batch = batch.map { $0.job.isBootstrap ? Ran(of: $0, as: .bootstrap(.restored)) : $0 }
        let view = feature.view(newer)
        // Only the runner, which is us, changes the head: what was read stays true until it is replaced.
        let viewChanged = view != self.view
        let isGivenUp = conflicts >= Self.conflictLimit
        let jobs = isGivenUp ? [] : jobsToRunAgain(of: batch)
        let (mailboxes, isDisposed) = core.withLock { core in
            core.state = newer
            core.view = view
            guard core.phase != .disposed else { return ([Mailbox<F>](), true) }
            if viewChanged { core.tellStates(view) }
            core.retrying().runAgain(jobs, conflicts: conflicts)
            return (Array(core.subscribers.values), false)
        }
        for mailbox in mailboxes { mailbox.drain() }
        if isGivenUp {
            let detail = "Other writers of the same store were first \(conflicts) times in a row."
            notCommitted(batch, CommitFailure(.contended, detail))
        } else if isDisposed {
            for job in jobs { job.refuse(.disposed) }
        }
    }

    /// After how many conflicts in a row a batch is given up.
    static var conflictLimit: Int { 8 }
}
