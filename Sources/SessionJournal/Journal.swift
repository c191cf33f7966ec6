import MVI

/// Takes the result of what a journal was asked for.
public typealias Done<Value> = @Sendable (Result<Value, StoreError>) -> Void

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
public protocol Journal: Sendable {
    /// What tokens of sessions that are not kept yet prove themselves with. The same at each call, and in every process
    /// that uses the journal.
    func secret(done: @escaping Done<JournalSecret>)

    /// Keeps a new session. Fails with `StoreError.Code.exists` if there is one with that token's hash or id, with
    /// `gone` if its token is remembered as that of an ended one, and with `tooManySessions` if it keeps as many as it may.
    func create(_ session: SessionRecord, done: @escaping Done<SessionKey>)

    /// Appends to a session's log as one unit: all of it is kept or nothing. See `JournalBatch`.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` later.
    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?

    /// Remembers until a time since 1970 that a session has ended which is not kept. Of as many as sessions may be kept, those
    /// whose time is over first go first.
    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>)

    /// Forgets a session and all that belongs to it, and remembers until a time since 1970 that its token was there.
    /// Succeeds also if it is gone.
    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>)

    /// Notes what may be lost in a crash without harm. Those of sessions that are gone are passed over.
    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>)

    /// Forgets sessions that were not used since a time since 1970, and tombstones whose time is over, in small steps
    /// that never hold up appends for long: at most `limit` sessions. Hands over how many it were; as many as `limit`
    /// means that there may be more.
    ///
    /// - Parameter tombstoneUntil: how long the tokens of those are remembered: time since 1970.
    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>)

    /// What a token names, without the states of its stores.
    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>)

    /// A session with only those labels, receipts and states that were appended after a head; nil if it is gone.
    ///
    /// They are those with numbers above `since.number`, whether or not the log ever had that head: the caller compares
    /// it with `StoredSession.recentHeads`.
    func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>)

    /// The stores of those that the session has.
    func loadStores(_ features: [FeatureID], of session: SessionKey, done: @escaping Done<[StoredStore]>)

    /// Everything that is kept of the session with a public id; nil if there is none.
    func export(_ id: String, done: @escaping Done<SessionExport?>)

    /// Why an append would probably fail now; nil if it would succeed. A server whose journal is in trouble is not ready.
    var trouble: StoreError? { get }

    /// Does what it was asked for already, then lets go of its files. What comes later fails.
    func close() async
}
