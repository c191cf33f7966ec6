import MVI

/// Credentials and subjects. Tokens change under both the directory's and the session's lock, so a token always names a
/// session that has it.
extension MemoryJournal {
    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        done(
            directory.withLock { directory in
                if directory.isClosed { return .failure(.journalClosed) }
                return shard(of: change.session).withLock { shard in
                    guard let session = shard.sessions[change.session] else { return .failure(.sessionGone) }
                    let old = session.credentials
                    let stored = StoredAccess(
                        token: session.record.tokenHash, subject: session.subject, isShared: session.record.isShared,
                        isSpace: session.record.space != nil, credentials: old.map { ($0.token, $0.number) })
                    return change.endedTokens(stored, name: directory.name, hasShared: directory.hasShared)
                        .map { ended in
                            session.credentials = change.merged(into: old)
                            if let settings = change.settings { session.set(settings) }
                            // The session's place in the other tables stays the same.
                            directory.move(
                                change.session, from: session.subject, to: change.subject, isShared: stored.isShared)
                            let life = session.record.lifeClass
                            session.subject = change.subject
                            if let subject = session.visitor { directory.visits.signIn(session.record.id, subject) }
                            if session.record.lifeClass != life { shard.addUse(of: session, change.session) }
                            session.accessChanges += 1
                            if !change.reminders.isEmpty { set(change.reminders, of: change.session, session) }
                            for credential in change.kept { directory.add(credential.token, of: change.session) }
                            for token in ended {
                                directory.remove(token, tombstoneUntil: change.tombstoneUntil, limit: limit)
                            }
                        }
                }
            })
    }

    package func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        if case .spaces(let group, let name) = query {
            let keys = directory.withLock { $0.spaces(of: group, after: name) }
            return answer(Array(keys.lazy.compactMap { self.read($0) { $0.record } }.prefix(limit)), done)
        }
        var found: [SessionRecord] = []
        var last = SessionKey(0)
        while found.count < limit {
            let keys = directory.withLock { $0.sessions(query, after: last, limit: limit - found.count) }
            guard let key = keys.last else { break }
            last = key
            // Skips sessions that are gone or changed their subject meanwhile.
            found += keys.compactMap { key in read(key) { $0.record.answers(query) ? $0.record : nil } }
        }
        answer(found, done)
    }
}

extension MemoryJournal {
    package func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        let known = directory.withLock { directory in
            subject.map { directory.sessions(.subject($0), after: SessionKey(0), limit: .max) } ?? directory.all
        }
        let keys = known.filter { $0.number < before?.number ?? .max }
            .sorted { $0.number > $1.number }
        var found: [SessionOverview] = []
        for key in keys where found.count < limit {
            // Skips sessions that are gone or changed their subject meanwhile.
            let overview = read(key) { session in
                subject.map { $0.isSame(as: session.subject) } ?? true ? session.overview(key) : nil
            }
            if let overview { found.append(overview) }
        }
        answer(found, done)
    }
}

extension MemoryJournal {
    package func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>
    ) {
        let keys = directory.withLock { $0.all }.filter { $0.number > after.number }.sorted { $0.number < $1.number }
        var found = FoundStores()
        var count = 0
        for key in keys where count < limit {
            let session = read(key) { session in
                ofSubjects && session.record.subject == nil
                    ? nil : (session.record.tokenHash, session.hasStore(of: queries))
            }
            guard let (token, hasUnused) = session else { continue }
            count += 1
            found.last = key
            if hasUnused { found.sessions.append(token) }
        }
        answer(found, done)
    }
}

extension MemoryJournal {
    func note(_ visits: [Visit], in space: SessionKey) {
        directory.withLock { directory in
            // It may have been removed since its append.
            guard read(space, { $0.record.space }) != nil else { return }
            for var visit in visits {
                if visit.subject == nil, let session = directory.ids[visit.session] {
                    visit.subject = read(session) { $0.visitor }
                }
                directory.visits.note(visit, in: space)
            }
        }
    }

    package func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>) {
        let found = directory.withLock { directory in
            directory.visits.found(query, limit: limit).compactMap { key, visit in
                read(key) { $0.record.space }.map { SpaceVisit(space: $0, key: key, visit: visit) }
            }
        }
        answer(found, done)
    }

    package func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>
    ) {
        shard(of: space).withLock { $0.sessions[space]?.forget(receipts, labels) }
        directory.withLock { $0.visits.remove(sessions, from: space) }
        answer((), done)
    }
}

extension MemorySession {
    fileprivate func hasStore(of queries: [StoreQuery]) -> Bool {
        stores.contains { store in
            let lastSeen = store.summary.lastSeen == .zero ? record.lastSeen : store.summary.lastSeen
            return queries.contains { $0.finds(store.summary.feature, lastSeen: lastSeen) }
        }
    }
}

extension SessionRecord {
    fileprivate func answers(_ query: SessionQuery) -> Bool {
        switch query {
        case .id(let id): self.id == id
        case .subject(let subject): subject.isSame(as: self.subject)
        case .shared(let subject): isShared && subject.isSame(as: self.subject)
        case .space(let name): space == name
        case .spaces(let group, _): space?.group == group
        }
    }
}

extension MemorySession {
    fileprivate func overview(_ key: SessionKey) -> SessionOverview {
        SessionOverview(
            key: key, id: record.id, created: record.created, lastSeen: record.lastSeen, stores: stores.count,
            bytes: stores.reduce(0) { $0 + $1.state.count + $1.view.count }, subject: record.subject,
            isShared: record.isShared, space: record.space)
    }

    /// The subject of what its anonymous client sent to spaces; nil if that was another person.
    fileprivate var visitor: Subject? {
        credentials.contains { $0.number == StoredCredential.ofAnotherPerson } ? nil : record.subject
    }

    /// True if a token is the session's own or that of one of its credentials.
    func isNamed(by token: TokenHash) -> Bool {
        record.tokenHash == token || credentials.contains { $0.token == token }
    }
}
