import Locking
import MVI
import SessionJournal

/// The data that was deleted for a subject.
package struct ForgottenData: Sendable, Hashable {
    package var sessions = 0
    package var stores = 0
    /// The size of the stores' states and view states in bytes.
    package var bytes = 0
    /// The spaces in which it sent something.
    package var spaces = 0

    package init() {}
}

/// All data of one subject: its export and its deletion.
extension SessionTable {
    /// Returns the public ids of the subject's sessions, oldest first.
    package func sessionIDs(of subject: Subject) async throws(StoreError) -> [String] {
        try await records(.subject(subject)).map(\.id)
    }

    /// Returns everything stored about the session with a public id, with whole states in its recorded turns; nil if there
    /// is none. Turns that another node recorded in the last second may be missing.
    ///
    /// - Parameter number: leaves out most recorded turns before this one; nil for all.
    package func export(_ id: String, turnsFrom number: UInt64? = nil) async throws(StoreError) -> SessionExport? {
        await writeRecordings()
        // The first one is spliced from a turn before.
        let last = number.map { $0 - min($0, UInt64(RecordedState.longestInterval)) }
        return try await awaitResult { environment.journal.export(id, turnsAfter: last, done: $0) }.get()?.whole
    }

    /// Deletes all data of a subject: ends its sessions here and elsewhere, and deletes their rows. Meanwhile sign-ins of
    /// the subject fail on this node. The subject's account should be disabled first, since a later sign-in begins anew.
    ///
    /// It is not undone by a failure or a crash, and can be repeated. Calls the environment's forget action first, and
    /// again when sessions have ended: their work may have written meanwhile.
    package func forget(_ subject: Subject) async throws(StoreError) -> ForgottenData {
        let name = SubjectBytes(subject)
        totals.withLock { $0.forgetting[name, default: 0] += 1 }
        defer {
            totals.withLock { totals in
                let count = (totals.forgetting[name] ?? 1) - 1
                totals.forgetting[name] = count > 0 ? count : nil
            }
        }
        try await callForgetAction(subject, "Nothing was deleted")
        var data = ForgottenData()
        // A sign-in that began before it may have stored another session.
        repeat {
            for session in try await list(of: subject, before: nil, limit: .max) {
                data.sessions += 1
                data.stores += session.stores
                data.bytes += session.bytes
            }
            for record in try await records(.subject(subject)) { try await end(record) }
            // Their turns in spaces that were judged before then are in the journal, with their visits.
            for session in sessions where session.space != nil && session.queue.isRunning {
                await awaitResult { done in session.enqueue(.steps, done: { _ in done(()) }) { _ in false } }
            }
            try await purge(subject)
            let spaces = try await forgetVisits(.subject(subject))
            data.spaces += spaces
            // The journal's files have what the stores replaced until then.
            if spaces > 0 { try await purge(subject) }
        } while try await !records(.subject(subject)).isEmpty
        // Damaged sessions, and those of which the journal lost rows.
        for session in sessions where subject.isSame(as: session.info.subject) { remove(session) }
        if data.sessions > 0 { try await callForgetAction(subject, "The sessions were deleted, but repeat it") }
        return data
    }

    private func purge(_ subject: Subject) async throws(StoreError) {
        let now = lifeTime(Moment(environment.time))
        let until = now + environment.limits.tombstoneLife
        try await awaitResult { environment.journal.purge(subject, now: now, tombstoneUntil: until, done: $0) }.get()
    }

    private func callForgetAction(_ subject: Subject, _ state: String) async throws(StoreError) {
        guard let action = environment.forgetAction.withLock({ $0 }) else { return }
        do { try await action(subject) } catch {
            throw StoreError(
                .unavailable, "\(state): the server's own part failed: \(error)", retryAfter: .seconds(5))
        }
    }

    /// Fails for a subject whose data is being deleted.
    func checkIsKept(_ subject: Subject) throws(StoreError) {
        let name = SubjectBytes(subject)
        guard totals.withLock({ $0.forgetting[name] == nil }) else { throw .subjectIsForgotten }
    }
}
