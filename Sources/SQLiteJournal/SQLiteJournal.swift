import Locking
import Logging
import MVI
import SQLite
import SessionJournal

/// A journal in a SQLite database. Committed data is on the disk.
///
/// One thread writes all waiting changes as one transaction; another reads. As many threads as there are cores run
/// completion handlers, each session's on one of them, in commit order. `docs/journal.md` describes the schema and the
/// behavior when the disk is in trouble.
public final class SQLiteJournal: Journal {
    let engine: SQLiteEngine

    private init(_ engine: SQLiteEngine) { self.engine = engine }

    /// No caller is left: waiting writes are completed, then the files are closed.
    deinit { engine.close() }

    /// Opens the journal in a folder, which is created if it is missing.
    ///
    /// A damaged or read-only file or a full disk is no error: the journal is in `trouble` then, and works as soon as
    /// that is repaired.
    ///
    /// - Parameter commitWindow: The shortest time between the starts of two transactions while several clients write.
    ///   A longer one means fewer syncs of the disk and up to this much latency. Zero starts at once.
    /// - Parameter sessionLimit: The largest number of stored sessions; further ones are refused.
    /// - Parameter spaceLimit: Likewise of spaces, which shared stores have in place of a session.
    /// - Throws: `JournalOpenError` if the folder cannot be created, if another server uses it, or if a newer version
    ///   of this program wrote it.
    public static func open(
        directory: String, logger: Logger, commitWindow: Duration = .milliseconds(1), sessionLimit: Int = .max,
        spaceLimit: Int = 100_000
    ) async throws(JournalOpenError) -> SQLiteJournal {
        var options = JournalOptions()
        options.commitWindow = commitWindow
        (options.sessionLimit, options.spaceLimit) = (sessionLimit, spaceLimit)
        return try await open(directory: directory, logger: logger, options: options)
    }

    static func open(
        directory: String, logger: Logger, options: JournalOptions
    ) async throws(JournalOpenError) -> SQLiteJournal {
        let engine: SQLiteEngine
        do { engine = try SQLiteEngine(folder: directory, options: options, logger: logger) } catch {
            throw .noThread(error)
        }
        let opened: Result<Void, JournalOpenError> = await awaitResult { done in
            do { try startThread { Writer(engine).run(opened: done) } } catch {
                engine.completions.end()
                done(.failure(.noThread(error)))
            }
        }
        try opened.get()
        return SQLiteJournal(engine)
    }

    // MARK: Writing

    package func create(
        _ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>
    ) {
        let (limit, spaceLimit) = (engine.options.sessionLimit, engine.options.spaceLimit)
        let scope: Scope =
            credential.map { .tokens([session.tokenHash, $0.token], nil) } ?? .token(session.tokenHash)
        engine.write(scope, done) { database in
            try database.create(session, credential: credential, limit: limit, spaceLimit: spaceLimit)
        }
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        let limit = engine.options.sessionLimit
        let tokens = change.kept.map(\.token) + change.removed
        engine.write(.tokens(tokens, change.session), done) { database in
            try database.change(change, limit: limit)
        }
    }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        let write = SQLiteWrite(scope: .session(batch.session), bytes: batch.bytes) { database in
            .append(try database.append(batch), done)
        } fail: { error, isUnknown in
            .append(isUnknown ? .unknown(error) : .failed(error), done)
        }
        return engine.enqueue(write).map { .failed($0) }
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        let limit = engine.options.sessionLimit
        engine.write(.removal(session), done) { database in
            .success(try database.remove(session, tombstoneUntil: tombstoneUntil, limit: limit))
        }
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        let limit = engine.options.sessionLimit
        engine.write(.token(token), done) { database in
            .success(try database.bury(token.bytes, until: until, limit: limit))
        }
    }

    package func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        // In pieces, each a small part of a transaction. They are written in order, so the last result stands for all
        // of them; losing some is harmless.
        var rest = touches[...]
        repeat {
            let piece = rest.prefix(256)
            rest = rest.dropFirst(256)
            engine.write(.sessions(piece.map(\.session)), rest.isEmpty ? done : { _ in }) { database in
                .success(try piece.forEach { try database.note($0) })
            }
        } while !rest.isEmpty
    }

    package func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>) {
        engine.write(.sessions(recordings.map(\.session)), done) { database in
            .success(try recordings.forEach { try database.record($0) })
        }
    }

    package func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>
    ) {
        engine.write(.session(space), done) { database in
            .success(try database.forget(visitsOf: sessions, receipts: receipts, labels: labels, in: space))
        }
    }

    package func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        engine.purge(.noting(now), subject, tombstoneUntil, done)
    }

    package func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        engine.step(
            Expiry(lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit), done)
    }

    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        engine.step(
            Expiry(lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit), done
        )
    }

    // MARK: Reading

    package func secret(done: @escaping Done<JournalSecret>) {
        engine.read(after: .token(TokenHash(0, 0, 0, 0)), done) { connection in try connection.secret() }
    }

    package func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        engine.read(after: .token(token), done) { load in
            switch load {
            case .found(let session): session.key
            case .damaged(let key, _): key
            case .ended, .unknown: nil
            }
        } _: { connection in
            try connection.load(token, now: now)
        }
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        engine.read(after: .session(session), done) { connection in try connection.load(session, since: since) }
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        engine.read(after: .session(session), done) { connection in
            try connection.stores(features, of: session, named: token)
        }
    }

    package func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        engine.read(after: .any, done) { connection in try connection.find(query, limit: limit) }
    }

    package func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        engine.read(after: .any, done) { connection in
            try connection.list(of: subject, before: before, limit: limit)
        }
    }

    package func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>
    ) {
        engine.read(after: .any, done) { connection in
            try connection.findStores(queries, ofSubjects: ofSubjects, after: after, limit: limit)
        }
    }

    package func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>) {
        engine.read(after: .any, done) { connection in try connection.visits(query, limit: limit) }
    }

    package func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        engine.read(after: .any, done) { connection in try connection.alarms(after: after, limit: limit) }
    }

    package func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>) {
        engine.read(after: .all, done, session: { $0?.session.key }) { connection in
            try connection.export(id, turnsAfter: number)
        }
    }

    // MARK: State

    package var trouble: StoreError? { engine.isClosing ? .journalClosed : engine.status.trouble }

    /// Counts since it was opened.
    package var statistics: JournalStatistics {
        var statistics = engine.status.statistics
        statistics.queueLength = engine.length
        return statistics
    }

    package func measure(by meter: any JournalMeter) { engine.meter.withLock { $0 = meter } }

    package func complete(on loops: [TaskLoop]) { engine.completions.use(loops) }

    public func close() async {
        engine.close()
        await engine.waitForEnd()
    }
}

extension JournalOpenError {
    static func noThread(_ error: any Error) -> JournalOpenError {
        JournalOpenError("The journal cannot be opened: \(error).")
    }
}
