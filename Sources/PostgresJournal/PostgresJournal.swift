import Locking
import Logging
import MVI
import PostgreSQL
import SessionJournal

/// A journal in a PostgreSQL database, for any number of servers at once. Data reported as committed is committed
/// there, as safely as the database's `synchronous_commit` allows.
///
/// Some threads write, each on its own connection and all ready changes as one transaction; others read.
/// `docs/journal.md` describes the schema and the behavior when the database is in trouble.
public final class PostgresJournal: SharedJournal {
    let engine: PostgresEngine

    private init(_ engine: PostgresEngine) { self.engine = engine }

    /// No caller is left: waiting requests are completed, then the connections are closed.
    deinit { engine.close() }

    /// Connects to a database, and creates or migrates the journal's schema in it.
    ///
    /// An unreachable or read-only database, or one that refuses the user, is no error: the journal is in `trouble`
    /// then, and works as soon as that is repaired.
    ///
    /// - Parameters:
    ///   - database: A URL, `postgres://user@host:port/name?sslmode=verify-full`, or libpq's `keyword=value`. The
    ///     environment (`PGHOST`, `PGUSER`, `PGPASSWORD` and so on) supplies missing parts, or all if it is empty.
    ///   - schema: The name of the schema for the journal's tables.
    ///   - connections: The number of connections that write; as many others read.
    ///   - listenDatabase: The database for receiving other servers' news, without a pooler that gives each transaction
    ///     to another of the database's processes; nil for `database`.
    ///   - rereadDatabase: Returns the present `database`, for example with a rotated password. Called on the journal's
    ///     threads before each new connection, which uses the last text after an error. Nil if it does not change.
    ///   - rereadListenDatabase: The same for `listenDatabase`.
    ///   - failoverLosesNothing: The operator's assurance that a standby that takes over has all commits: sessions then
    ///     keep their epochs.
    ///   - forgottenList: The path of this server's file of deleted subjects, outside the database. After a restore of an
    ///     older backup, their data is deleted again before the server is ready. Nil keeps no such file.
    ///   - sessionLimit: The approximate largest number of sessions; further ones are refused.
    ///   - spaceLimit: Likewise of spaces, which shared stores have in place of a session.
    /// - Throws: `JournalOpenError` if `database` is invalid, or if a newer version of this program made the schema.
    public static func open(
        database: String, schema: String = "mvi", connections: Int = 2, listenDatabase: String? = nil,
        rereadDatabase: (@Sendable () throws -> String)? = nil,
        rereadListenDatabase: (@Sendable () throws -> String)? = nil, failoverLosesNothing: Bool = false,
        forgottenList: String? = nil, logger: Logger, sessionLimit: Int = .max, spaceLimit: Int = 100_000
    ) async throws(JournalOpenError) -> PostgresJournal {
        var options = PostgresOptions()
        (options.rereadDatabase, options.rereadListenDatabase) = (rereadDatabase, rereadListenDatabase)
        options.failoverLosesNothing = failoverLosesNothing
        options.forgottenList = forgottenList.map(ForgottenList.init)
        (options.schema, options.sessionLimit, options.listenDatabase) = (schema, sessionLimit, listenDatabase)
        options.spaceLimit = spaceLimit
        (options.writers, options.readers) = (max(1, connections), max(1, connections))
        return try await open(database: database, logger: logger, options: options)
    }

    static func open(
        database: String, logger: Logger, options: PostgresOptions
    ) async throws(JournalOpenError) -> PostgresJournal {
        let target = ConnectionTarget(database, applicationName: "mvi-server", reread: options.rereadDatabase)
        guard let target else { throw .noText }
        let rereadListen = options.listenDatabase == nil ? options.rereadDatabase : options.rereadListenDatabase
        guard
            let listen = ConnectionTarget(
                options.listenDatabase ?? database, applicationName: "mvi-server listening", reread: rereadListen)
        else {
            throw JournalOpenError(
                "The listen database is not a connection string that libpq accepts, such as postgres://user@host:5432/name."
            )
        }
        guard let engine = PostgresEngine(target, listen: listen, options: options, logger: logger) else {
            throw .noThread
        }
        // First the schema, then the threads that use it.
        try await start(engine) { Maintenance(engine).run(opened: $0) }
        for index in engine.lanes { try await start(engine) { WriteLane(engine, index: index).run(opened: $0) } }
        for _ in 0..<options.readers {
            engine.threadStarted()
            let thread = SystemThread { PostgresReader(engine).run() }
            guard let thread else {
                engine.threadEnded()
                engine.close()
                throw .noThread
            }
            thread.detach()
        }
        return PostgresJournal(engine)
    }

    /// Creates or migrates the journal's schema as a user with that right: servers can run as one without it. Blocks
    /// until it is done, while transactions of others are in the way.
    ///
    /// - Parameter role: The role that may use the journal from then on; nil for none.
    /// - Throws: `JournalOpenError` if a newer program made the schema; `StoreError` if the database refuses.
    public static func migrate(database: String, schema: String = "mvi", grantingTo role: String? = nil) throws {
        guard let target = ConnectionTarget(database, applicationName: "mvi-server migrate") else {
            throw JournalOpenError.noText
        }
        var options = PostgresOptions()
        options.schema = schema
        let migrator = Migrator(target, options)
        do {
            try migrator.finish()
            if let role { try migrator.grant(to: role) }
        } catch let error as JournalOpenError {
            throw error
        } catch {
            throw StoreError(error, at: "\(target.description), schema \(schema)")
        }
    }

    /// Starts a thread and waits until it reports that it has begun.
    private static func start(
        _ engine: PostgresEngine,
        _ run: @escaping @Sendable (_ opened: (Result<Void, JournalOpenError>) -> Void) -> Void
    ) async throws(JournalOpenError) {
        let opened: Result<Void, JournalOpenError> = await awaitResult { done in
            engine.threadStarted()
            let thread = SystemThread { run(done) }
            if let thread { return thread.detach() }
            engine.threadEnded()
            done(.failure(.noThread))
        }
        do { try opened.get() } catch {
            engine.close()
            throw error
        }
    }

    // MARK: Writing

    package func create(
        _ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>
    ) {
        create(session, credential, nil, done)
    }

    package func create(
        _ session: SessionRecord, credential: StoredCredential?, of generation: [UInt8],
        done: @escaping Done<SessionKey>
    ) {
        create(session, credential, generation, done)
    }

    private func create(
        _ session: SessionRecord, _ credential: StoredCredential?, _ generation: [UInt8]?,
        _ done: @escaping Done<SessionKey>
    ) {
        if session.tokenHash == credential?.token { return engine.refuse(.sessionExists, done) }
        let tokens = [session.tokenHash] + (credential.map { [$0.token] } ?? [])
        var keys = tokens.map { ChainKey.token($0) } + [.id(session.id)]
        if session.isShared, let subject = session.subject { keys.append(.shared(SubjectBytes(subject))) }
        guard engine.hasRoom(for: session) else {
            return engine.refuse(session.space == nil ? .tooManyKept : .tooManySpaces, done)
        }
        let statement = engine.statements.create(session, credential, of: generation)
        guard session.subject == nil else {
            return engine.steps(keys, done, wait: .directory) { [engine] transaction in
                if let refusal = try transaction.refusal(toSignIn: session.subject, engine.statements) {
                    return .failure(refusal)
                }
                let results = try transaction.commit([statement, engine.statements.signIn("id", .utf8(session.id))])
                return try engine.created(session, results[0], &transaction.news)
            }
        }
        let write = Write(
            work: .statement(statement) { [engine] rows, news in
                let result = try engine.created(session, rows, &news)
                return .other { done(result) }
            }, keys: keys, fail: { error, _ in .other { done(.failure(error)) } })
        engine.start(write, done, wait: .directory)
    }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        let write = Write(
            work: .append(batch, done), keys: [.session(batch.session)], bytes: batch.bytes, session: batch.session,
            fail: { error, isUnknown in .append(isUnknown ? .unknown(error) : .failed(error), done) })
        return engine.add(write).map { .failed($0) }
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        let tokens = change.kept.map(\.token) + change.removed
        let keys = [ChainKey.session(change.session)] + Set(tokens).map { .token($0) }
        engine.steps(keys, session: change.session, done, wait: .directory, isOfDirectory: true) {
            [engine] transaction in
            try transaction.make(change, engine.statements)
        }
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        engine.steps([.session(session)], session: session, done, isOfDirectory: true, endsSessions: true) {
            [engine] transaction in
            let sql = engine.statements
            let results = try transaction.commit(
                [sql.lock([session]), sql.remove(session)]
                    + sql.removeRest(of: [session], tombstoneUntil: tombstoneUntil))
            let isSpace = try results[1].first?.bool(0)
            engine.withSessions { if let isSpace { $0.add(-1, areSpaces: isSpace) } }
            transaction.news.change(session)
            return .success(())
        }
    }

    package func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>
    ) {
        engine.steps([.session(space)], session: space, done) { [engine] transaction in
            _ = try transaction.commit(engine.statements.forget(visitsOf: sessions, receipts, labels, in: space))
            return .success(())
        }
    }

    package func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        engine.purge(subject, now: now, tombstoneUntil: tombstoneUntil, done)
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        let write = Write(
            work: .statement(engine.statements.bury(token, until: until)) { _, news in
                news.know(token)
                return .other { done(.success(())) }
            },
            keys: [.token(token)], fail: { error, _ in .other { done(.failure(error)) } })
        engine.start(write, done)
    }

    package func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        // In pieces. Those about the same sessions are written in order. The last result stands for all of them; losing
        // some is harmless.
        var rest = touches[...]
        repeat {
            let piece = rest.prefix(256)
            rest = rest.dropFirst(256)
            let isLast = rest.isEmpty
            let keys = Set(piece.map(\.session)).map { ChainKey.session($0) }
            engine.steps(
                keys, session: piece.first?.session, isLast ? done : { _ in },
                wait: isLast && touches.count > 256 ? .all : .keys
            ) {
                [engine] transaction in
                if piece.isEmpty { return .success(()) }
                _ = try transaction.commit(engine.statements.touch(piece))
                return .success(())
            }
        } while !rest.isEmpty
    }

    package func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>) {
        // Without keys: appends do not wait for it.
        engine.steps([], done) { [engine] transaction in
            if !recordings.isEmpty { _ = try transaction.commit(engine.statements.record(recordings)) }
            return .success(())
        }
    }

    package func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        engine.step(
            Expiry(lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit), done
        )
    }

    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        engine.step(
            Expiry(
                lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit), done
        )
    }

    // MARK: Reading

    package func secret(done: @escaping Done<JournalSecret>) {
        engine.read(.keys, done) { [engine] reader in
            reader.attempt([PostgresStatement(engine.statements.secret)]) { results in
                guard let rows = results.first else { throw StoreError(.unavailable, "The journal's secret is gone.") }
                return try JournalSecret(rows)
            }
        }
    }

    package func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        engine.load(token, now: now, after: [.token(token)], done)
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        engine.load(session, since: since, done)
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        let question = StoresQuestion(features: features, session: session, token: token)
        engine.ask(.stores(question), after: [.session(session)], of: session, done) { answer in
            LoadedStores(try answer.rows.first?.mark(), try answer.rows.compactMap { try $0.foundStore() })
        }
    }

    package func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        engine.read(.all, done) { [engine] reader in
            reader.attempt([SessionReads.find(engine.statements, query, limit: limit)]) { results in
                // Skips damaged rows.
                results.first?.rows.compactMap { try? $0.sessionRecord() } ?? []
            }
        }
    }

    package func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        engine.read(.all, done) { [engine] reader in
            let list = SessionReads.list(engine.statements, of: subject, before: before, limit: limit)
            // Skips damaged rows.
            return reader.attempt([list]) { results in results.first?.rows.compactMap { try? $0.overview() } ?? [] }
        }
    }

    package func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>
    ) {
        engine.read(.all, done) { [engine] reader in
            reader.attempt([
                SessionReads.storesOf(engine.statements, queries, ofSubjects: ofSubjects, after: after, limit: limit)
            ]) {
                results in
                var page = FoundStores()
                for row in results.first?.rows ?? [] {
                    page.last = try row.key(0)
                    if try row.bool(2) { page.sessions.append(try row.token(1)) }
                }
                return page
            }
        }
    }

    package func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>) {
        engine.read(.all, done) { [engine] reader in
            reader.attempt([engine.statements.visits(query, limit: limit)]) { results in
                try results.first?.map { row in try row.spaceVisit() }.compactMap(\.self) ?? []
            }
        }
    }

    package func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        engine.read(.all, done) { [engine] reader in
            reader.attempt([SessionReads.alarms(engine.statements, after: after, limit: limit)]) { results in
                try results.first?.map { row in
                    Alarm(token: try row.token(2), session: try row.key(1), due: try row.time(0))
                } ?? []
            }
        }
    }

    package func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>) {
        engine.read(.all, done) { [engine] reader in
            let reads = SessionReads(engine.statements, export: id, turnsAfter: number)
            return reader.attempt(reads.statements) { results in try reads.results(results).first?.export() }
        }
    }

    // MARK: State

    package var trouble: StoreError? { engine.trouble }

    /// Counts since it was opened.
    package var statistics: PostgresStatistics { engine.statistics }

    package var figures: JournalFigures {
        let statistics = statistics
        return JournalFigures(
            connectionsLost: statistics.connectionsLost, groupsSplit: statistics.splits,
            newsDelays: statistics.newsDelays, areNewsLate: statistics.areNewsLate,
            oldestTransaction: statistics.oldestTransaction)
    }

    package func measure(by meter: any JournalMeter) { engine.meter.withLock { $0 = meter } }

    package func complete(on loops: [TaskLoop]) { engine.completions.use(loops) }

    public func close() async {
        engine.close()
        await engine.waitForEnd()
    }
}

extension JournalOpenError {
    /// Omits the text, which may contain a password.
    fileprivate static let noText = JournalOpenError(
        "The journal's database is not a connection string that libpq accepts, such as postgres://user@host:5432/name.")
    fileprivate static let noThread = JournalOpenError(
        "The journal cannot be opened: the system has no thread for it.")
}
