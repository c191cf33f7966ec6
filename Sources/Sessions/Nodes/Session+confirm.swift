import Locking
import SessionJournal

extension Session {
    /// Calls `then` when what other nodes appended before this call is known here: before this returns where no other process
    /// appends, else after a query, on another thread. A client that was answered by one node finds no less on another.
    ///
    /// Where the journal cannot be asked, what is known here has to do.
    func confirm(then: @escaping @Sendable () -> Void) {
        guard let journal = shared.sharedJournal else { return then() }
        guard let key = core.withLock({ $0.key }) else {
            return journal.areKnown([tokenHash]) { [self] result in
                guard case .success(let known) = result, known.contains(tokenHash) else { return then() }
                catchUp(then)
            }
        }
        journal.marks(of: [key]) { [self] result in
            let mark = core.withLock { $0.mark }
            guard case .success(let marks) = result, marks[key] != mark else { return then() }
            catchUp(then)
        }
    }
}
