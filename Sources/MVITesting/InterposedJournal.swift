import MVI
import SessionJournal

/// A journal of tests in front of another one: each operation passes `perform`, which can count, hold, delay or fail it.
///
/// A conforming type has `base`, `perform` and `append`, and implements what else it does differently.
package protocol InterposedJournal: Journal {
    /// The journal behind this one.
    var base: any Journal { get }

    /// Runs an operation of `base` now, later or not at all, and hands its result or another one to `done`.
    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void)
}

/// The operations of a journal, without `append`.
package enum JournalOperation: Sendable {
    case secret, load, news, stores, find, list, alarms, export, visits
    case create, change, bury, remove, forget, record, touch, expire, reclaim

    /// True if the operation changes nothing.
    package var isRead: Bool {
        switch self {
        case .secret, .load, .news, .stores, .find, .list, .alarms, .export, .visits: true
        case .create, .change, .bury, .remove, .forget, .record, .touch, .expire, .reclaim: false
        }
    }
}

extension InterposedJournal {
    package var trouble: StoreError? { base.trouble }

    package func close() async { await base.close() }

    package func secret(done: @escaping Done<JournalSecret>) {
        perform(.secret, done) { [base] in base.secret(done: $0) }
    }

    package func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        perform(.create, done) { [base] in base.create(session, credential: credential, done: $0) }
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        perform(.change, done) { [base] in base.change(change, done: $0) }
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        perform(.bury, done) { [base] in base.bury(token, until: until, done: $0) }
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        perform(.remove, done) { [base] in base.remove(session, tombstoneUntil: tombstoneUntil, done: $0) }
    }

    package func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>) {
        perform(.visits, done) { [base] in base.visits(query, limit: limit, done: $0) }
    }

    package func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>
    ) {
        perform(.forget, done) { [base] in
            base.forget(visitsOf: sessions, receipts: receipts, labels: labels, in: space, done: $0)
        }
    }

    package func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        perform(.remove, done) { [base] in base.purge(subject, now: now, tombstoneUntil: tombstoneUntil, done: $0) }
    }

    package func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>) {
        perform(.record, done) { [base] in base.record(recordings, done: $0) }
    }

    package func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        perform(.touch, done) { [base] in base.touch(touches, done: $0) }
    }

    package func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        perform(.expire, done) { [base] in
            base.expire(
                lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: $0)
        }
    }

    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        perform(.reclaim, done) { [base] in
            base.reclaim(
                lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit, done: $0
            )
        }
    }

    package func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        perform(.load, done) { [base] in base.load(token, now: now, done: $0) }
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        perform(.news, done) { [base] in base.load(session, since: since, done: $0) }
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        perform(.stores, done) { [base] in base.loadStores(features, of: session, named: token, done: $0) }
    }

    package func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        perform(.find, done) { [base] in base.find(query, limit: limit, done: $0) }
    }

    package func list(of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>) {
        perform(.list, done) { [base] in base.list(of: subject, before: before, limit: limit, done: $0) }
    }

    package func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>
    ) {
        perform(.find, done) { [base] in
            base.findStores(queries, ofSubjects: ofSubjects, after: after, limit: limit, done: $0)
        }
    }

    package func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        perform(.alarms, done) { [base] in base.alarms(after: after, limit: limit, done: $0) }
    }

    package func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>) {
        perform(.export, done) { [base] in base.export(id, turnsAfter: number, done: $0) }
    }
}
