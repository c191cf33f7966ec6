import MVI

/// A journal that a server can use: a `SQLiteJournal`, a `PostgresJournal` or a `MemoryJournal`. All methods but
/// `close` are internal to the package.
public protocol ServerJournal: Sendable {
    /// Completes the accepted operations, then releases the journal's files. Later operations fail.
    func close() async
}

/// Receives the result of a journal operation.
package typealias Done<Value> = @Sendable (Result<Value, StoreError>) -> Void

/// The durable storage of sessions.
///
/// A session with its stores, labels, receipts and head is one unit of commit. Appending compares the session's head
/// first, so that other writers are noticed: nothing here assumes that this process is the only one.
///
/// Any thread may call the methods, and none blocks. Each calls `done` once, before it returns or later. A later `done`
/// runs on a thread that may run handlers and write to sockets, never on the thread that commits and never under a
/// lock.
///
/// Changes are made in call order: an operation sees the effects of all calls that returned before it was called, and
/// of all whose `done` was called. A read may also see changes made before its result is delivered. Expiry consists of
/// many small changes, each made at its own time before `done` is called.
package protocol Journal: ServerJournal {
    /// The secret that proves tokens of sessions that are not stored yet. It is the same at each call, and in every
    /// process that uses the journal, until `JournalMaintenance` changes it.
    func secret(done: @escaping Done<JournalSecret>)

    /// Stores a new session, with a credential unless it is anonymous.
    ///
    /// Fails with `StoreError.Code.exists` if the id or a token is in use, or if the session is shared and its subject
    /// has a shared session already, or if a space has the name; with `gone` if one of the tokens is remembered as ended;
    /// with `tooManySessions` or, for a space, `tooManySpaces` if the limit is reached. Spaces have a limit of their own. A
    /// sixteenth of that of sessions is reserved for those with a subject.
    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>)

    /// Changes who may use a session, as a whole or not at all.
    ///
    /// The tokens of removed credentials are remembered as ended; the session's own token still names it. Fails with
    /// - `StoreError.Code.gone` if the session is gone,
    /// - `contended` if another writer was first: the subject is not the expected one, a kept credential's number
    ///   belongs to another credential, or its token is remembered as ended,
    /// - `exists` if a kept credential's token belongs to another session, or if the session is shared and the new
    ///   subject has another shared session,
    /// - `invalid` if the change names a token or a number twice, or if the session is a space.
    func change(_ change: CredentialChange, done: @escaping Done<Void>)

    /// Appends to a session's log as one unit, see `JournalBatch`.
    ///
    /// Returns the result if it is available at once; otherwise returns nil and calls `done` later.
    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?

    /// Adds recordings of committed turns, at most one element for each session. Their loss in a crash is harmless. Sessions
    /// that are gone are skipped.
    func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>)

    /// Remembers until a time since 1970 that a session which is not stored has ended. The number of tombstones is
    /// bounded by the session limit; those that end first are dropped first.
    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>)

    /// Deletes a session and all its data, and remembers its tokens as ended until a time since 1970, but not that of a
    /// space: a new one can have its name at once. Succeeds also if the session is gone.
    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>)

    /// Finds at most `limit` visits of spaces, in no order.
    func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>)

    /// Deletes visits of these sessions from a space, with these receipts and labels and all recorded turns of the space.
    /// What is not there is skipped.
    func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>)

    /// Deletes all sessions of a subject, also damaged ones, with all rows that removed sessions left, and overwrites the
    /// places of deleted rows in the journal's own files. Its visits are `forgotten` from then on. A journal with backups notes
    /// it, for restores of older ones. Takes many small steps, which do not block appends for long.
    /// After a failure it can be repeated.
    func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>)

    /// Notes values whose loss in a crash is harmless. Sessions that are gone are skipped.
    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>)

    /// Deletes at most `limit` sessions that were not used since a time since 1970, and tombstones that have ended, in
    /// small steps that do not block appends for long. Reports the number of deleted sessions; if it equals `limit`,
    /// there may be more. A session with a reminder stays until 30 days after the reminder's due time.
    ///
    /// Visits without a subject end like anonymous sessions, senders `HeardMessage.life` after their last message.
    ///
    /// - Parameters:
    ///   - lastSeenBefore: The time since 1970 for each class of lifetime.
    ///   - tombstoneUntil: Time since 1970 until which the deleted sessions' own tokens are remembered, except those of
    ///     spaces. Those of credentials are not: they are random, so they never name another session.
    func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>)

    /// Deletes at most `limit` anonymous sessions without reminders that were used only briefly and not lately. Reports
    /// their number. A journal that lacks this information deletes none.
    ///
    /// - Parameters:
    ///   - lastSeenBefore: Time since 1970 since which the sessions were not used.
    ///   - usedFor: The longest time from creation to last use, at most five minutes.
    ///   - tombstoneUntil: Time since 1970 until which their tokens are remembered.
    func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>)

    /// Loads the session with this token, either its own or that of a credential, without the states of its stores.
    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>)

    /// Loads a session with only the labels, receipts and states that were appended after a head; nil if it is gone.
    ///
    /// These have numbers above `since.number`, even if the log never had that head: the caller compares it with
    /// `StoredSession.recentHeads`.
    func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>)

    /// Loads those of the stores that the session has, and the position of its log, as of one moment.
    ///
    /// - Parameter token: The session's own. If the key names another session, as after a restore, the result is empty.
    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>)

    /// Finds at most `limit` sessions, oldest first unless the query says otherwise. A query for a subject finds its shared session and all others.
    /// Subjects are compared byte for byte. Damaged sessions are skipped.
    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>)

    /// Lists at most `limit` sessions with their sizes, newest first. Damaged sessions are skipped.
    ///
    /// - Parameters:
    ///   - subject: Lists only this subject's sessions; nil for all.
    ///   - before: Lists only sessions created before this one, which may be gone; nil for all.
    func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>)

    /// Finds sessions with a store that one of the queries finds. Looks at the next `limit` sessions after a key, only at
    /// those of subjects with `ofSubjects`.
    func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>)

    /// Lists at most `limit` reminders of all sessions by the time of their next attempt, then by session key. Begins after
    /// an alarm, which need not exist, or with the first one.
    ///
    /// Each pair of a session and a time appears once, even if the session has several reminders for that time.
    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>)

    /// Exports everything stored about the session with a public id; nil if there is none.
    ///
    /// - Parameter number: leaves out recorded turns up to this number; nil for all.
    func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>)

    /// The reason why an append would probably fail now, or nil. A server with a journal in trouble is not ready.
    var trouble: StoreError? { get }

    /// Reports each later transaction to a meter. A journal without transactions reports nothing.
    func measure(by meter: any JournalMeter)

    /// Calls the handlers of later requests on these loops, those of a session on one of them, until a loop has ended. A
    /// journal without threads ignores them.
    func complete(on loops: [TaskLoop])
}

extension Journal {
    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        done(.success(0))
    }

    package func measure(by meter: any JournalMeter) {}

    package func complete(on loops: [TaskLoop]) {}

    package func export(_ id: String, done: @escaping Done<SessionExport?>) {
        export(id, turnsAfter: nil, done: done)
    }

    /// Stores a new anonymous session.
    package func create(_ session: SessionRecord, done: @escaping Done<SessionKey>) {
        create(session, credential: nil, done: done)
    }
}
