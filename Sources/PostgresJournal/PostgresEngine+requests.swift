import MVI
import PostgreSQL
import SessionJournal

/// The conversion of the journal's methods into requests.
extension PostgresEngine {
    /// Delivers a failure on a thread that may run handlers.
    func refuse<Value: Sendable>(_ error: StoreError, _ done: @escaping Done<Value>) {
        done(.failure(isClosing ? .journalClosed : error))
    }

    func start<Value: Sendable>(_ write: Write, _ done: Done<Value>, wait: Schedule<Request>.Wait = .keys) {
        if let refusal = add(write, wait: wait) { done(.failure(refusal)) }
    }

    /// Writes in its own transaction. Rolls back unless `body` commits.
    func steps<Value: Sendable>(
        _ keys: [ChainKey], session: SessionKey? = nil, _ done: @escaping Done<Value>,
        wait: Schedule<Request>.Wait = .keys, isOfDirectory: Bool = false, endsSessions: Bool = false,
        isAccepted: Bool = false,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result<Value, StoreError>
    ) {
        let write = Write(
            work: .steps { transaction in
                let result = try body(transaction)
                return .other { done(result) }
            }, keys: keys, session: session, endsSessions: endsSessions,
            fail: { error, _ in .other { done(.failure(error)) } })
        if let refusal = add(write, wait: wait, isOfDirectory: isOfDirectory, isAccepted: isAccepted) {
            done(.failure(refusal))
        }
    }

    /// True if another session fits, as far as this process knows.
    func hasRoom(for session: SessionRecord) -> Bool {
        let limit = session.space == nil ? session.limit(ofAll: options.sessionLimit) : options.spaceLimit
        return withSessions { (session.space == nil ? $0.count : $0.spaces).map { $0 < limit } ?? true }
    }

    /// Returns the result of the statement that creates a session.
    func created(
        _ session: SessionRecord, _ rows: PostgresRows, _ news: inout OutgoingNews
    ) throws -> Result<SessionKey, StoreError> {
        let result = try Statements.creation(rows)
        if case .success = result {
            withSessions { $0.add(1, areSpaces: session.space != nil) }
            news.know(session.tokenHash)
        }
        return result
    }

    // MARK: Expiry

    /// Runs the next step of an expiry, and then the others.
    func step(_ expiry: Expiry, isFirst: Bool = true, _ done: @escaping Done<Int>) {
        let write = Write(
            work: .steps { [self] transaction in
                var next = expiry
                for session in try transaction.step(&next, statements, atMost: options.stepSessions) {
                    transaction.news.change(session)
                }
                let (after, isOver) = (next, next.isOver)
                return .other { isOver ? done(.success(after.count)) : self.step(after, isFirst: false, done) }
            }, keys: [], endsSessions: true, fail: { error, _ in .other { done(.failure(error)) } })
        if let refusal = add(write, wait: isFirst ? .all : .keys) {
            done(expiry.count > 0 ? .success(expiry.count) : .failure(refusal))
        }
    }

    // MARK: Reads

    /// Returns the result unless a write that affects it is in doubt. A failure keeps its own error: an unreachable
    /// journal did not respond.
    private func unlessInDoubt<Value>(
        _ result: Result<Value, StoreError>, _ keys: [ChainKey]
    ) -> Result<Value, StoreError> {
        guard case .success = result, isInDoubt(keys) else { return result }
        return .failure(.inDoubt)
    }

    /// Reads after all earlier writes, or some of them. Fails while any write is in doubt.
    func read<Value: Sendable>(
        _ wait: Schedule<Request>.Wait, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (PostgresReader) -> Result<Value, StoreError>
    ) {
        let read = Read.alone { [self] reader in
            let result = unlessInDoubt(body(reader), [])
            completions.enqueue(.other { done(result) }, of: nil)
        }
        if let refusal = add(read, keys: [], wait: wait) { done(.failure(refusal)) }
    }

    /// Asks a question after the earlier writes that share a key with it. Fails while one of them is in doubt.
    func ask<Value: Sendable>(
        _ question: Question, after keys: [ChainKey], of session: SessionKey? = nil, _ done: @escaping Done<Value>,
        _ value: @escaping @Sendable (ReadAnswer) throws -> Value
    ) {
        let read = Read.question(question) { [self] answer, _ in
            let found = answer.flatMap { answer in
                Result { try value(answer) }.mapError { StoreError($0, at: place) }
            }
            let result = unlessInDoubt(found, keys)
            completions.enqueue(.other { done(result) }, of: session)
        }
        if let refusal = add(read, keys: keys, wait: .keys) { done(.failure(refusal)) }
    }

    /// Loads the session with a token. If later writes are enqueued for the session than for the token, it is read
    /// again after them.
    func load(
        _ token: TokenHash, now: Duration, after keys: [ChainKey], isAccepted: Bool = false,
        _ done: @escaping Done<SessionLoad>
    ) {
        let read = Read.question(.token(token)) { [self] answer, seen in
            let key: SessionKey?
            let load: Result<SessionLoad, StoreError>
            do throws(StoreError) {
                let results = try answer.get().session
                (key, load) = (try? results.key(), .success(results.load(now: now)))
                if let key, hasWrites(of: key, since: seen), !keys.contains(.session(key)) {
                    return self.load(token, now: now, after: keys + [.session(key)], isAccepted: true, done)
                }
                if let key, (try? results.isOfAnotherPast()) == true {
                    return renewEpoch(of: key) { [self] renewed in
                        if case .failure(let error) = renewed { return done(.failure(error)) }
                        self.load(token, now: now, after: keys + [.session(key)], isAccepted: true, done)
                    }
                }
            } catch {
                (key, load) = (nil, .failure(error))
            }
            let result = unlessInDoubt(load, keys + (key.map { [.session($0)] } ?? []))
            completions.enqueue(.other { done(result) }, of: key)
        }
        if let refusal = add(read, keys: keys, wait: .keys, isAccepted: isAccepted) { done(.failure(refusal)) }
    }

    func load(
        _ session: SessionKey, since: SessionHead, isAccepted: Bool = false, _ done: @escaping Done<StoredSession?>
    ) {
        let read = Read.question(.news(session, since: since.number)) { [self] answer, _ in
            let found = answer.flatMap { answer in
                Result {
                    (
                        session: try answer.session.session(withRecentHeads: true),
                        isOld: try answer.session.isOfAnotherPast()
                    )
                }.mapError { StoreError($0, at: place) }
            }
            if case .success(let (_, isOld)) = found, isOld {
                return renewEpoch(of: session) { [self] renewed in
                    if case .failure(let error) = renewed { return done(.failure(error)) }
                    load(session, since: since, isAccepted: true, done)
                }
            }
            let result = unlessInDoubt(found.map(\.session), [.session(session)])
            completions.enqueue(.other { done(result) }, of: session)
        }
        if let refusal = add(read, keys: [.session(session)], wait: .keys, isAccepted: isAccepted) {
            done(.failure(refusal))
        }
    }

    /// Gives a session a new epoch after a loss of commits.
    private func renewEpoch(of session: SessionKey, _ done: @escaping Done<Void>) {
        steps([.session(session)], session: session, done, isAccepted: true) { [self] transaction in
            _ = try transaction.commit([statements.lock([session]), statements.renewEpoch(of: session)])
            return .success(())
        }
    }
}

extension SessionReads.Results {
    /// Returns the result of a look-up by one token.
    func load(now: Duration) -> SessionLoad {
        do {
            if let session = try session(withRecentHeads: false) { return .found(session) }
            return try tombstone().map { now < $0 } == true ? .ended : .unknown
        } catch {
            guard let key = try? key() else { return .unknown }
            return .damaged(key, "\(error)")
        }
    }
}

extension WriteTransaction {
    /// Runs a step of an expiry and commits it. Returns the removed sessions.
    fileprivate func step(_ expiry: inout Expiry, _ sql: Statements, atMost most: Int) throws -> [SessionKey] {
        let limit = expiry.stepSize(atMost: most)
        let ending = expiry.ending
        let results = try run([sql.lockUnused(expiry, limit: limit)] + ending.map { sql.drop($0, expiry, limit: 512) })
        let sessions = try results[0].map { row in try row.key(0) }
        // The rows of its last statement are the removed sessions.
        let first = sessions.isEmpty ? [] : sql.expire(sessions, expiry)
        let rest =
            sessions.isEmpty ? [] : sql.removeRest(of: sessions, tombstoneUntil: expiry.tombstoneUntil, isExpired: true)
        let kept = try commit(first + rest)
        for (rows, result) in zip(ending, results.dropFirst()) where result.affected < 512 { expiry.noteEnd(of: rows) }
        let removed = sessions.isEmpty ? [] : try kept[first.count - 1].map { row in try row.key(0) }
        expiry.removed(removed.count, isLast: sessions.count < limit)
        return removed
    }
}
