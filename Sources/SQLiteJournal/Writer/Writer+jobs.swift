import Logging
import SQLite
import SessionJournal

/// What takes many steps, each a short transaction of its own between those of appends.
extension Writer {
    /// Takes one step of each.
    func stepJobs() {
        if !expiries.isEmpty || hasGarbage { stepExpiry() }
        if let backup { step(backup) }
    }

    /// Ends what takes many steps: the journal is closed.
    func endJobs() {
        for expiry in expiries { engine.deliver { expiry.done(.success(expiry.count)) } }
        expiries = []
        if let backup { end(backup, with: .closed) }
    }

    private func stepExpiry() {
        guard let database else { return }
        var isCommitting = false
        do {
            let step = try timed {
                // The next append's sync, or the one at the end of the expiry, takes this along; until then a power cut
                // may undo it, and it is done again.
                try database.setSynced(false)
                var step = ExpiryStep(
                    expiry: expiries.first, end: .now + engine.options.stepTime, sessions: engine.options.stepSessions)
                try database.begin()
                try database.take(&step)
                isCommitting = true
                try database.commit()
                try database.setSynced(true)
                statistics.transactions += 1
                return step
            }
            for session in step.removed { cache[session] = nil }
            hasGarbage = step.hasGarbage
            publish()
            guard let expiry = step.expiry else { return }
            if expiry.hasTombstones || expiry.hasSessions || hasGarbage {
                expiries[0] = expiry
            } else {
                try timed { try database.probe(ballast: 0) }
                expiries.removeFirst()
                engine.deliver { expiry.done(.success(expiry.count)) }
            }
        } catch {
            undo(database)
            // Without this nothing may be committed any more.
            do { try database.setSynced(true) } catch { self.database = nil }
            let failure = JournalFailure(error, at: engine.files.database)
            let error = error as? SQLiteError
            if isCommitting, error?.leavesNothingCommitted != true { engine.doubt.withLock { $0.isOfAll = true } }
            if isCommitting || error?.isOfMedium == true || self.database == nil { return begin(failure) }
            // Something in the file is damaged where only this looks. Appends go on; another expiry tries again.
            hasGarbage = false
            engine.logger.error("Expired sessions could not be deleted.", metadata: ["reason": "\(failure)"])
            if !expiries.isEmpty {
                let expiry = expiries.removeFirst()
                engine.deliver { expiry.done(.failure(failure)) }
            }
        }
    }
}

/// One step of expiry: what it is to do, and what it did.
struct ExpiryStep {
    /// Whose step it is; nil if only rows of sessions that are gone are to be deleted.
    var expiry: Expiry?
    /// When it must be over.
    let end: ContinuousClock.Instant
    /// How many sessions it may look at.
    let sessions: Int
    var removed: [SessionKey] = []
    var hasGarbage = true

    init(expiry: Expiry?, end: ContinuousClock.Instant, sessions: Int) {
        self.expiry = expiry
        self.end = end
        self.sessions = sessions
    }

    var isOver: Bool { ContinuousClock.now >= end }
}
