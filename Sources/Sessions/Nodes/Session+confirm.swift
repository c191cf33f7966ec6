import Locking
import SessionJournal

extension Session {
    /// Finds out whether another node appended something that is not known here.
    func hasMoved(_ done: @escaping Done<Bool>) {
        guard let journal = shared.sharedJournal else { return done(.success(false)) }
        guard let key = core.withLock({ $0.key }) else {
            return journal.areKnown([tokenHash]) { [tokenHash] result in
                done(result.map { $0.contains(tokenHash) })
            }
        }
        journal.marks(of: [key]) { [self] result in
            let mark = core.withLock { $0.mark }
            done(result.map { $0[key] != mark })
        }
    }

    /// Calls `then` when what other nodes appended before this call is known here: before this returns where no other process
    /// appends, else after a query, on another thread. A client that was answered by one node finds no less on another.
    ///
    /// Where the journal cannot be asked, what is known here has to do.
    func confirm(then: @escaping @Sendable () -> Void) {
        hasMoved { [self] result in
            if case .success(true) = result { catchUp(then) } else { then() }
        }
    }
}
