import MVI
import SQLite
import SessionJournal

/// A step of the complete deletion of a subject's rows.
enum PurgeStep: Sendable {
    /// Noting the subject and the time since 1970, for restores of older backups.
    case noting(Duration)
    case removing
    /// Deleting the rows of removed sessions.
    case deleting
}

/// The complete deletion of a subject's rows, in transactions between those of others.
extension SQLiteEngine {
    func purge(_ step: PurgeStep, _ subject: Subject, _ tombstoneUntil: Duration, _ done: @escaping Done<Void>) {
        let write = SQLiteWrite(scope: .all) { [self] database in
            if case .noting(let now) = step {
                try database.connection.note([files.forgotten.note(subject, at: now)])
                try database.connection.forgetVisits(of: subject)
                return .other { self.purge(.removing, subject, tombstoneUntil, done) }
            }
            let next = try database.purge(step, subject, tombstoneUntil, limit: options.sessionLimit)
            return .other { next.map { self.purge($0, subject, tombstoneUntil, done) } ?? self.emptyLog(done) }
        } fail: { error, _ in
            .other { done(.failure(error)) }
        }
        if let refusal = enqueue(write) { done(.failure(refusal)) }
    }

    /// Has the log copied into the database and truncated.
    private func emptyLog(_ done: @escaping Done<Void>) {
        let refusal = enqueue { [completions] writer in
            writer.emptyLog { result in completions.enqueue(.other { done(result) }, of: nil) }
        }
        if let refusal { done(.failure(refusal)) }
    }
}

/// A log that is to be emptied, and those who wait for it.
struct LogEmptying {
    /// The shortest time between attempts, during which others write.
    static let pause: Duration = .seconds(1)

    var next: ContinuousClock.Instant
    /// The time at which those who wait are told that it failed. The attempts go on.
    let end: ContinuousClock.Instant = .now + .seconds(50)
    var waiters: [Done<Void>]

    mutating func tell(_ result: Result<Void, StoreError>) {
        for waiter in waiters { waiter(result) }
        waiters = []
    }
}

extension Writer {
    fileprivate func emptyLog(_ done: @escaping Done<Void>) {
        emptying = LogEmptying(next: max(.now, nextEmptying), waiters: (emptying?.waiters ?? []) + [done])
    }

    /// Tries to copy the log into the database and to truncate it, if that is wanted. Reads that overlap keep the log:
    /// nothing waits for them. Everything else waits during an attempt, so the pause after one is ten times as long.
    func emptyLogIfDue() {
        guard let due = emptying?.next, due <= .now else { return }
        guard let database else {
            emptying?.tell(.failure(engine.status.trouble ?? .journalClosed))
            emptying = nil
            return
        }
        let start = ContinuousClock.now
        let result = timed {
            database.connection.setBusyTimeout(.zero)
            defer { database.connection.setBusyTimeout(JournalDatabase.busyTimeout) }
            return Result {
                // A page in memory may have copies of deleted rows, and would bring them into the next log.
                try database.connection.script("PRAGMA shrink_memory")
                try database.connection.checkpoint(.truncate)
            }
            .mapError { StoreError($0, at: engine.files.database) }
        }
        nextEmptying = .now + (.now - start) * 10
        if case .failure = result, let end = emptying?.end {
            emptying?.next = max(nextEmptying, .now + LogEmptying.pause)
            if end <= .now { emptying?.tell(result) }
        } else {
            emptying?.tell(result)
            emptying = nil
        }
    }
}

extension JournalDatabase {
    /// Runs one step inside an open transaction. Returns the next one; nil after the last.
    fileprivate func purge(
        _ step: PurgeStep, _ subject: Subject, _ tombstoneUntil: Duration, limit: Int
    ) throws -> PurgeStep? {
        switch step {
        case .noting, .removing:
            let keys = try connection.query(
                "SELECT key FROM sessions WHERE subject = ? AND issuer = ? LIMIT 64",
                [.text(subject.id), .text(subject.issuer)]
            ) { row in SessionKey(try row.integer(0)) }
            for key in keys { try remove(key, tombstoneUntil: tombstoneUntil, limit: limit) }
            // Again, since its sessions went on until now.
            if keys.isEmpty { try connection.forgetVisits(of: subject) }
            return keys.isEmpty ? .deleting : .removing
        case .deleting:
            // The transaction of this step deletes a part.
            return hasGarbage ? .deleting : nil
        }
    }
}
