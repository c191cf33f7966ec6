import Locking
import MVI
import SessionJournal

/// One node's way to a journal that other nodes use as well.
final class NodeJournal: SharedJournal {
    /// What passes news from each node to the others.
    final class Cluster: Sendable {
        fileprivate let listeners = Lock<[(node: ObjectIdentifier, heard: @Sendable (JournalNews) -> Void)]>([])
        private let losesNews = Lock(false)

        /// No news come any more, or again.
        func lose(_ losesNews: Bool) { self.losesNews.withLock { $0 = losesNews } }

        fileprivate func tell(_ news: JournalNews, from node: NodeJournal) {
            guard !losesNews.withLock({ $0 }) else { return }
            let others = listeners.withLock { $0.filter { $0.node != ObjectIdentifier(node) } }
            for other in others { other.heard(news) }
        }

        /// As after a connection that was lost.
        func interrupt() { for listener in listeners.withLock({ $0 }) { listener.heard(.interrupted) } }
    }

    private let kept: MemoryJournal
    private let cluster: Cluster

    init(_ kept: MemoryJournal, _ cluster: Cluster) { (self.kept, self.cluster) = (kept, cluster) }

    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) {
        cluster.listeners.withLock { $0.append((ObjectIdentifier(self), heard)) }
    }

    func heads(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionHead]>) {
        var heads: [SessionKey: SessionHead] = [:]
        for key in sessions {
            let session = Box<StoredSession?>()
            kept.load(key, since: .empty) { session.set(try? $0.get()) }
            heads[key] = session.value??.head
        }
        done(.success(heads))
    }

    func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>) {
        var known: Set<TokenHash> = []
        for token in tokens {
            let load = Box<SessionLoad>()
            kept.load(token, now: .zero) { if case .success(let found) = $0 { load.set(found) } }
            switch load.value {
            case .found?, .damaged?, .ended?: known.insert(token)
            case .unknown?, nil: break
            }
        }
        done(.success(known))
    }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        let result = kept.append(batch, done: done)
        if case .committed? = result { cluster.tell(.appended([batch.session: batch.head]), from: self) }
        return result
    }

    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        kept.create(session, credential: credential) { [self] result in
            done(result)
            if case .success = result { cluster.tell(.known([session.tokenHash]), from: self) }
        }
    }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        kept.change(change) { [self] result in
            done(result)
            if case .success = result { cluster.tell(.changed([change.session]), from: self) }
        }
    }

    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        kept.bury(token, until: until) { [self] result in
            done(result)
            cluster.tell(.known([token]), from: self)
        }
    }

    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        kept.remove(session, tombstoneUntil: tombstoneUntil) { [self] result in
            done(result)
            cluster.tell(.changed([session]), from: self)
        }
    }

    func secret(done: @escaping Done<JournalSecret>) { kept.secret(done: done) }

    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) { kept.touch(touches, done: done) }

    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        kept.expire(
            lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: done)
    }

    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        kept.load(token, now: now, done: done)
    }

    func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        kept.load(session, since: since, done: done)
    }

    func loadStores(_ features: [FeatureID], of session: SessionKey, done: @escaping Done<[StoredStore]>) {
        kept.loadStores(features, of: session, done: done)
    }

    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        kept.find(query, limit: limit, done: done)
    }

    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        kept.alarms(after: after, limit: limit, done: done)
    }

    func export(_ id: String, done: @escaping Done<SessionExport?>) { kept.export(id, done: done) }

    var trouble: StoreError? { nil }

    func close() async {}
}
