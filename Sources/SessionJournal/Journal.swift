import MVI

/// A journal that a server can be given: a `SQLiteJournal`, a `PostgresJournal` or a `MemoryJournal`. What it does is between the
/// journal and the server.
public protocol ServerJournal: Sendable {
    /// Does what it was asked for already, then lets go of its files. What comes later fails.
    func close() async
}

/// Takes the result of what a journal was asked for.
package typealias Done<Value> = @Sendable (Result<Value, StoreError>) -> Void

/// Where sessions become permanent.
///
/// A session, its stores, labels, receipts and its head are one unit of commit. Appending is compare-and-append on the
/// session's head, so that another writer is noticed: nothing here assumes that this process is the only one.
///
/// All methods may be called from any thread and block none: each hands its result to `done`, once, before it returns or
/// later. A `done` that comes later comes on a thread that may run handlers and write to sockets, never on the one that
/// others wait for to commit, and never under a lock.
///
/// Changes are made in the order in which they were handed over: an operation sees the effects of all those whose call
/// returned before its own call began, and of all whose `done` was called. A read may also see changes that are handed
/// over before its answer. Expiry is many small changes, each at its own time until it is answered.
package protocol Journal: ServerJournal {
    /// The secret by which tokens of sessions that are not kept yet prove themselves. The same at each call, and in every
    /// process that uses the journal, until `JournalMaintenance` changes it.
    func secret(done: @escaping Done<JournalSecret>)

    /// Keeps a new session, with a credential if it is not to be anonymous.
    ///
    /// Fails with `StoreError.Code.exists` if there is a session with its id, a session or a credential with one of the
    /// tokens, or, for a session that is shared, a shared one of its subject; with `gone` if one of the tokens is
    /// remembered as ended; with `tooManySessions` if as many sessions are kept as may be: a sixteenth of them is for
    /// sessions with a subject.
    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>)

    /// Changes who may use a session: all of the change is kept or nothing.
    ///
    /// The tokens of the credentials that it removes are remembered as ended; the session's own token still names it.
    /// Fails with
    /// - `StoreError.Code.gone` if the session is gone,
    /// - `contended` if another writer was first: the subject is not the expected one, a kept credential's number is that of
    ///   another credential, or its token is remembered as ended,
    /// - `exists` if a kept credential's token is another session's, or if the session is shared and the new subject has
    ///   another shared session,
    /// - `invalid` if the change names a token or a number twice.
    func change(_ change: CredentialChange, done: @escaping Done<Void>)

    /// Appends to a session's log as one unit: all of it is kept or nothing. See `JournalBatch`.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` later.
    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?

    /// Remembers until a time since 1970 that a session has ended which is not kept. Of as many as sessions may be kept, those
    /// whose time is over first go first.
    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>)

    /// Forgets a session and all that belongs to it, and remembers until a time since 1970 that its token and those of its
    /// credentials were there. Succeeds also if it is gone.
    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>)

    /// Notes what may be lost in a crash without harm. Those of sessions that are gone are passed over.
    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>)

    /// Forgets sessions that were not used since a time since 1970, and tombstones whose time is over, in small steps
    /// that never hold up appends for long: at most `limit` sessions. Hands over how many it were; as many as `limit`
    /// means that there may be more. A session with a reminder stays, until the reminder was due 30 days before `now`.
    ///
    /// - Parameter tombstoneUntil: how long the tokens of those are remembered: time since 1970.
    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>)

    /// Forgets anonymous sessions without reminders that were used only for a short time and not lately: at most `limit`.
    /// Hands over how many it were. A journal that does not know forgets none.
    ///
    /// - Parameters:
    ///   - lastSeenBefore: the time since 1970 since which they were not used.
    ///   - usedFor: the longest time from their beginning to their last use.
    ///   - tombstoneUntil: how long their tokens are remembered: time since 1970.
    func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>)

    /// What a token names, without the states of its stores: the session that it is the own token of, or that has a
    /// credential with it.
    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>)

    /// A session with only those labels, receipts and states that were appended after a head; nil if it is gone.
    ///
    /// They are those with numbers above `since.number`, whether or not the log ever had that head: the caller compares
    /// it with `StoredSession.recentHeads`.
    func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>)

    /// The stores of those that the session has.
    ///
    /// - Parameter token: the session's own. If the key names another session, as after a restore, none is handed over.
    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<[StoredStore]>)

    /// The sessions that are looked for, oldest first, at most `limit`. Those of a subject are the shared one and all
    /// others; subjects are compared byte for byte. A session whose row is damaged is passed over.
    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>)

    /// Sessions with how much is kept of them, newest first: at most `limit`. A session whose row is damaged is passed over.
    ///
    /// - Parameters:
    ///   - subject: whose; nil for all.
    ///   - before: only those that were made before this one, which need not be there any more; nil for all.
    func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>)

    /// The reminders of all sessions in the order of their due times, those of one time in the order of their sessions'
    /// keys: at most `limit` that come after a place, or from the first on. It need not be one that was ever there.
    ///
    /// Each pair of a session and a due time is there once, however many reminders the session has for that time.
    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>)

    /// Everything that is kept of the session with a public id; nil if there is none.
    func export(_ id: String, done: @escaping Done<SessionExport?>)

    /// Why an append would probably fail now; nil if it would succeed. A server whose journal is in trouble is not ready.
    var trouble: StoreError? { get }

    /// Has a meter told of each transaction from now on. A journal without transactions tells it nothing.
    func measure(by meter: any JournalMeter)
}

extension Journal {
    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        done(.success(0))
    }

    package func measure(by meter: any JournalMeter) {}

    /// Keeps a new session that is anonymous.
    package func create(_ session: SessionRecord, done: @escaping Done<SessionKey>) {
        create(session, credential: nil, done: done)
    }
}
