import Logging
import SQLite
import SessionJournal

/// A journal in a SQLite database: what it reported as committed is on the disk.
///
/// One thread writes, all that waits as one transaction; another reads. Results are handed over by as many threads as
/// there are cores, those of one session by the same one, in the order of commits. `docs/journal.md` says what is kept
/// where, and what happens when the disk is in trouble.
public final class SQLiteJournal: Journal {
    private let engine: Engine

    private init(_ engine: Engine) { self.engine = engine }

    /// Nobody can call it any more: what waits is done, then the files are closed.
    deinit { engine.queue.close() }

    /// Opens the journal in a folder, which is made if it is not there.
    ///
    /// A file that is damaged, not writable or on a full disk is no error: the journal is in `trouble` then, and works as
    /// soon as that is mended.
    ///
    /// - Throws: `JournalOpenError` if the folder cannot be made, if another server uses it, or if a newer version of this
    ///   program wrote it.
    public static func open(directory: String, logger: Logger) async throws(JournalOpenError) -> SQLiteJournal {
        try await open(directory: directory, logger: logger, options: JournalOptions())
    }

    static func open(
        directory: String, logger: Logger, options: JournalOptions
    ) async throws(JournalOpenError) -> SQLiteJournal {
        let engine: Engine
        do { engine = try Engine(folder: directory, options: options, logger: logger) } catch {
            throw JournalOpenError("The journal cannot be opened: \(error).")
        }
        let result = await withCheckedContinuation { continuation in
            do {
                try startThread { Reader(engine).run() }
            } catch {
                engine.lanes.end()
                return continuation.resume(
                    returning: Result<Void, JournalOpenError>.failure(
                        JournalOpenError("The journal cannot be opened: \(error).")))
            }
            do {
                try startThread { Writer(engine).run { continuation.resume(returning: $0) } }
            } catch {
                engine.reads.end()
                engine.lanes.end()
                continuation.resume(returning: .failure(JournalOpenError("The journal cannot be opened: \(error).")))
            }
        }
        try result.get()
        return SQLiteJournal(engine)
    }

    // MARK: Writing

    public func create(_ session: SessionRecord, done: @escaping @Sendable (Result<SessionKey, JournalFailure>) -> Void)
    {
        write(.create(session, done)) { done(.failure($0)) }
    }

    public func append(_ append: JournalAppend, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        engine.queue.hand(.append(append, done)).map { .failed($0) }
    }

    public func removeStore(
        _ feature: FeatureID, of session: SessionKey, marks: SessionMarks,
        done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        write(.removeStore(feature, of: session, marks, done)) { done(.failure($0)) }
    }

    public func remove(
        _ session: SessionKey, tombstoneUntil: Duration,
        done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        write(.remove(session, tombstoneUntil: tombstoneUntil, done)) { done(.failure($0)) }
    }

    public func touch(
        _ touches: [SessionTouch], done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        // In pieces that hold up nobody for long; they are done in their order, so the last one's result is that of all,
        // but for those that may be lost without harm.
        var rest = touches[...]
        while rest.count > Self.touchesAtOnce {
            let piece = rest.prefix(Self.touchesAtOnce)
            rest = rest.dropFirst(Self.touchesAtOnce)
            if let refusal = engine.queue.hand(.touch(piece, { _ in })) { return done(.failure(refusal)) }
        }
        write(.touch(rest, done)) { done(.failure($0)) }
    }

    private static let touchesAtOnce = 256

    public func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int,
        done: @escaping @Sendable (Result<Int, JournalFailure>) -> Void
    ) {
        let expiry = Expiry(
            lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: done)
        write(.expire(expiry)) { done(.failure($0)) }
    }

    /// Copies the whole journal into a new file while it goes on working. The copy is in `FILE.partial` until it is
    /// complete and synced; a file that is there already is left alone, which is the error `invalid`.
    public func backup(to path: String) async throws(JournalFailure) {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Void, JournalFailure>, Never>) in
            write(.backup(to: path) { continuation.resume(returning: $0) }) {
                continuation.resume(returning: .failure($0))
            }
        }
        try result.get()
    }

    private func write(_ item: WriteItem, refused: (JournalFailure) -> Void) {
        if let refusal = engine.queue.hand(item) { refused(refusal) }
    }

    // MARK: Reading

    public func load(
        _ token: TokenHash, now: Duration, done: @escaping @Sendable (Result<SessionLoad, JournalFailure>) -> Void
    ) {
        let read = Read(item: .load(token, now: now, done), needs: engine.queue.ticket(.token(token)))
        if let refusal = engine.reads.hand(read) { done(.failure(refusal)) }
    }

    public func loadStores(
        _ features: [FeatureID], of session: SessionKey,
        done: @escaping @Sendable (Result<[StoredStore], JournalFailure>) -> Void
    ) {
        let needs = engine.queue.ticket(.session(session))
        let read = Read(item: .stores(features, of: session, done), needs: needs, knowsSession: true)
        if let refusal = engine.reads.hand(read) { done(.failure(refusal)) }
    }

    public func export(_ id: String, done: @escaping @Sendable (Result<SessionExport?, JournalFailure>) -> Void) {
        let read = Read(item: .export(id, done), needs: engine.queue.ticket(.all), knowsSession: true)
        if let refusal = engine.reads.hand(read) { done(.failure(refusal)) }
    }

    // MARK: State

    public var trouble: JournalFailure? {
        engine.queue.isClosing ? .closed : engine.status.withLock { $0.trouble }
    }

    /// What it did so far.
    public var statistics: JournalStatistics {
        var statistics = engine.status.withLock { $0.statistics }
        statistics.queueLength = engine.queue.length
        return statistics
    }

    public func close() async {
        engine.queue.close()
        await engine.waitForEnd()
    }
}
