import Locking
import MVI
import SessionJournal

/// A journal of one session. It returns an input's rows and checks every append.
final class RowsJournal: Journal {
    /// The result of the first append.
    enum Trouble: Sendable { case none, conflict, unknown, failure }

    private struct State {
        var rows: Rows
        /// The rows that are read after the session was loaded.
        let later: Rows
        var trouble: Trouble
        var head: SessionHead?
        var isRemoved = false
        var fault: String?
    }

    private let state: Lock<State>

    init(_ rows: Rows, later: Rows, trouble: Trouble) {
        state = Lock(State(rows: rows, later: later, trouble: trouble))
    }

    /// The fault of an append; nil if there was none.
    var fault: String? { state.withLock { $0.fault } }

    func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        done(.success(state.withLock { $0.isRemoved ? .ended : .found($0.rows.session(token)) }))
    }

    func load(_ session: SessionKey, since head: SessionHead, done: @escaping Done<StoredSession?>) {
        let token = TokenHash([UInt8](repeating: 0, count: 32))
        let news = state.withLock { state -> StoredSession? in
            guard !state.isRemoved else { return nil }
            state.rows = state.later
            state.head = nil
            return state.rows.session(token, since: head)
        }
        done(.success(news))
    }

    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        let loaded = state.withLock { state in
            let rows = state.rows.session(token, since: nil)
            let mark = SessionMark(
                token: token, head: rows.head, accessChanges: rows.accessChanges, epoch: rows.record.epoch)
            return LoadedStores(mark, state.rows.stores.filter { features.contains($0.summary.feature) })
        }
        done(.success(loaded))
    }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        state.withLock { state in
            guard !state.isRemoved else { return .failed(.sessionGone) }
            defer { state.trouble = .none }
            let failure = StoreError(.unavailable, "The input asks for it.")
            switch state.trouble {
            case .none: break
            case .conflict: return .conflict
            case .unknown: return .unknown(failure)
            case .failure: return .failed(failure)
            }
            guard batch.expecting == state.head ?? state.rows.heads.last ?? .empty else { return .conflict }
            state.fault = state.fault ?? Self.fault(batch)
            state.head = batch.head
            return .committed
        }
    }

    private static func fault(_ batch: JournalBatch) -> String? {
        let (first, last) = (batch.expecting.number, batch.head.number)
        if last <= first { return "the head goes from \(first) to \(last)" }
        let numbers =
            batch.labels.map(\.id.number) + batch.stores.map(\.number) + batch.receipts.map(\.number)
            + batch.reminders.compactMap(\.number)
        if let number = numbers.first(where: { $0 <= first || $0 > last }) {
            return "the number \(number) is not of the turns after \(first) up to \(last)"
        }
        if batch.labels.map(\.id) != batch.labels.map(\.id).sorted() { return "labels are not in order" }
        if batch.stores.contains(where: { $0.version > $0.number || $0.made > $0.number }) {
            return "a store has a version above its number"
        }
        return nil
    }

    func secret(done: @escaping Done<JournalSecret>) { done(.success(.random())) }
    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        done(.success(SessionKey(1)))
    }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        let result = state.withLock { state -> Result<Void, StoreError> in
            guard !state.isRemoved else { return .failure(.sessionGone) }
            let (record, credentials) = (state.rows.record, state.rows.credentials)
            let stored = StoredAccess(
                token: record.tokenHash, subject: record.subject, isShared: record.isShared,
                credentials: credentials.map { ($0.token, $0.number) })
            let ended = change.endedTokens(stored, name: { _ in .unknown }, hasShared: { _ in false })
            if case .failure(let refusal) = ended { return .failure(refusal) }
            state.rows.credentials = change.merged(into: credentials)
            state.rows.record.subject = change.subject
            state.rows.reminders += change.reminders
            return .success(())
        }
        done(result)
    }

    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        done(.success(state.withLock { $0.isRemoved ? [] : [$0.rows.record] }))
    }

    func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        done(.success([]))
    }

    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        let alarms = state.withLock { state -> [Alarm] in
            guard !state.isRemoved else { return [] }
            let (token, times) = (state.rows.record.tokenHash, Set(state.rows.reminders.map(\.due)))
            return times.sorted().map { Alarm(token: token, session: SessionKey(1), due: $0) }
        }
        let next = alarms.firstIndex { alarm in after.map { $0.due < alarm.due } ?? true } ?? alarms.endIndex
        done(.success(Array(alarms[next...].prefix(limit))))
    }

    func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after: SessionKey, limit: Int, done: @escaping Done<FoundStores>
    ) {
        done(.success(FoundStores()))
    }

    func visits(_ query: VisitQuery, limit: Int, done: @escaping Done<[SpaceVisit]>) { done(.success([])) }

    func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey,
        done: @escaping Done<Void>
    ) { done(.success(())) }

    func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        done(.success(()))
    }

    func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) { done(.success(())) }
    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        state.withLock { $0.isRemoved = true }
        done(.success(()))
    }

    func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) { done(.success(())) }
    func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>) { done(.success(nil)) }

    func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>) { done(.success(())) }
    func close() async {}
    var trouble: StoreError? { nil }

    func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) { done(.success(0)) }
}

extension ReminderChange {
    /// The number of the turn that sets a reminder; nil for a deleted one.
    fileprivate var number: UInt64? { if case .set(let reminder) = self { reminder.number } else { nil } }
}
