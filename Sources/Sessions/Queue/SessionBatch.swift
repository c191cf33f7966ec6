import Locking
import MVI
import SessionJournal

/// The turns that ran since the last commit: the working copies of what they change, and the rows that will be appended.
struct SessionBatch {
    /// A store that the batch's turns are about.
    struct Store {
        let feature: FeatureID
        /// Nil if it is not in memory, or disposed of.
        var store: SessionStore?
        var isDisposed = false
        /// Where in `changes` it is; nil as long as nothing of it changes.
        var change: Int?
        /// Of the last turn that changed the view state.
        var version: UInt64
        /// The number of the turn that made it, and whether the journal has a row of the feature instance.
        var made: UInt64
        let isKept: Bool
        /// Members that the next state to be kept would lose; see `StoreSlot.lost`.
        var lost: [String] = []
        /// What the turns so far ask for.
        var effects: [Effect] = []
        var hasStarted = false
    }

    /// How many numbers the turns take.
    var count: UInt64 = 0
    var stores: [Store] = []
    /// What the journal is to change of them.
    var changes: [StoreChange] = []
    var labels: [StoredLabel] = []
    var receipts: [StoredReceipt] = []
    var recordings: [RecordedTurn] = []
    /// Nil if there are none, as there mostly are.
    var reminders: [ReminderChange]?
    var results: ShortList<JobResult> = []
    /// Stores whose work is to begin although no turn asks for it: the node becomes the session's owner.
    var claims: [FeatureID] = []
    /// Whether the node owns the session no more, if no turn launches work; or hands its work to the next one.
    var releasesOwner = false
    var givesAway = false
    /// Whether a caller is answered by it: where other nodes append, even an answer without a turn has to be true.
    var isAnswer = false
    /// The generation of access by which the first of its clients was judged; nil if none was.
    var accessGeneration: UInt64?

    /// Adds a store that is kept; returns its place.
    mutating func add(_ slot: borrowing StoreSlot) -> Int {
        let summary = slot.summary
        stores.append(
            Store(
                feature: summary.feature, store: slot.store, version: summary.version, made: summary.made, isKept: true,
                lost: slot.lost))
        return stores.count - 1
    }

    func index(of feature: FeatureID) -> Int? {
        // By the index: a closure would be given a copy of each.
        for index in stores.indices where stores[index].feature == feature { return index }
        return nil
    }

    /// The last number of a client's own epoch that a turn of the batch used; 0 if none did.
    func lastNumber(_ epoch: String) -> UInt64 {
        receipts.reduce(0) { last, receipt in
            if case .sequence(let number, epoch) = receipt.key { max(last, number) } else { last }
        }
    }
}

/// A batch on its way to the journal.
final class PendingCommit: Sendable {
    let session: Session
    let batch: JournalBatch
    let stores: [SessionBatch.Store]
    let results: ShortList<JobResult>
    /// Whether the journal has the session already.
    let isKept: Bool
    /// Whether the session's work ran here.
    let isOwners: Bool
    /// When it was taken to be appended; see `monotonicNanoseconds`.
    let begun = monotonicNanoseconds()
    /// Of the append; nil where nothing is traced.
    let span: AppendSpan?

    init(
        _ session: Session, _ batch: consuming JournalBatch, _ working: consuming SessionBatch, isKept: Bool,
        isOwners: Bool
    ) {
        self.isOwners = isOwners
        self.session = session
        self.batch = batch
        stores = working.stores
        results = working.results
        self.isKept = isKept
        // Not by `map`: a closure would be given copies of all this.
        if let tracer = session.shared.tracer {
            span = AppendSpan(tracer, session, head: self.batch.head.number, results)
        } else {
            span = nil
        }
    }

    /// The same for a session that is kept by now.
    init(_ first: PendingCommit, _ key: SessionKey) {
        var batch = first.batch
        batch.session = key
        (self.batch, session, stores, results, isKept) = (batch, first.session, first.stores, first.results, true)
        span = first.span
        isOwners = first.isOwners
    }

    func end(_ outcome: CommitOutcome) -> CommitEnd { (outcome, results) }
}

/// A request's name, as its receipt will have it.
struct ReceiptName: Sendable {
    let key: ReceiptKey
    let bodyHash: [UInt8]
}

extension SessionCore {
    /// The number of the batch's last turn.
    var lastNumber: UInt64 { head.number + batch.count }

    /// What becomes of a named request when its turn comes.
    enum Judgement {
        case next
        case done(StoredReceipt)
        case refused(StoreError)
    }

    /// Judges a request's name by the head and the batch's earlier turns.
    func judge(_ name: ReceiptName) -> Judgement {
        if let receipt = receipts[name.key] {
            if case .ran = receipt.outcome, receipt.bodyHash != name.bodyHash { return .refused(.otherBody) }
            return .done(receipt)
        }
        guard case .sequence(let number, let epoch) = name.key else { return .next }
        let expected = max(receipts.lastNumber(epoch), batch.lastNumber(epoch)) + 1
        if number == expected { return .next }
        return .refused(number < expected ? .receiptExpired : .outOfSequence(expected: expected))
    }

    /// What a job has before it at its turn.
    enum Found {
        /// With what the batch's turns of it ask for; nil if the store has something to do before its turn.
        case store(SessionStore, version: UInt64, effects: [Effect]?)
        /// It is kept, and not in memory; why the last load of it failed, if it did.
        case passive(StoreError?)
        /// There is none; why none can be made, and whether one that the journal has was disposed of by another turn of
        /// the batch.
        case absent(refusal: StoreError?, wasDisposed: Bool)
    }

    /// Looks for a feature instance's store at this point of the batch, which works on it from now on.
    mutating func find(_ feature: FeatureID, limits: SessionLimits) -> Found {
        let place = batch.index(of: feature)
        if let place {
            if let store = batch.stores[place].store { return found(store, at: place) }
        } else if let index = stores.index(of: feature) {
            guard let store = stores[index].store else { return .passive(stores.failure(of: feature)) }
            let place = batch.add(stores[index])
            return found(store, at: place)
        }
        let count = stores.count + batch.stores.count { $0.store != nil && !$0.isKept }
        let isFull = count >= limits.storesPerSession
        return .absent(
            refusal: refusal ?? (isFull ? .tooManyStores(limits.storesPerSession) : nil), wasDisposed: place != nil)
    }

    private func found(_ store: SessionStore, at place: Int) -> Found {
        var effects: [Effect]?
        if case .done = start(at: place) { effects = batch.stores[place].effects }
        return .store(store, version: batch.stores[place].version, effects: effects)
    }

    /// The place in the batch of a store that is in memory; nil if this is not the feature instance's store any more.
    mutating func work(on store: SessionStore) -> Int? {
        if let place = batch.index(of: store.feature) { return batch.stores[place].store === store ? place : nil }
        guard let index = stores.index(of: store.feature), stores[index].store === store else { return nil }
        return batch.add(stores[index])
    }

    /// What a store in memory has yet to do before a turn of its.
    func start(at place: Int) -> StoreSlot.Start {
        if batch.stores[place].hasStarted || !batch.stores[place].isKept { return .done }
        return stores.index(of: batch.stores[place].feature).map { stores[$0].start } ?? .done
    }

    /// Adds a turn that ran. One of which no trace would be left takes no number.
    mutating func join(
        _ call: TurnCall, _ turn: TurnResult, at index: Int, refusal: RecordedRefusal?, links: [SessionStore]?,
        now: Duration
    ) {
        let (intentID, receipt) = (call.intentID, call.receipt)
        var isKept = turn.trouble == nil || call.start != nil
        if call.start != nil { batch.stores[index].hasStarted = true }
        if let reminder = call.reminder, isUsedUp(reminder, by: turn) {
            note(.forgotten(reminder.feature, id: reminder.id))
            // A turn that did nothing else takes a number for it.
            if !isKept { batch.count += 1 }
            isKept = isKept || turn.trouble != nil
        }
        if turn.trouble == nil || call.start != nil {
            keep(turn.output, at: index, call, now: now)
            if !turn.effects.isEmpty {
                batch.stores[index].effects += turn.effects
                // What bootstrap registers for watchers any node registers again; the rest only this one knows of.
                if call.start == nil, turn.effects.contains(where: \.watches) {
                    batch.claims.append(batch.stores[index].feature)
                }
            }
        } else if let receipt, let refusal {
            add(refusal, receipt, intentID, now: now)
        }
        let feature = batch.stores[index].feature
        let view = batch.stores[index].change.flatMap { batch.changes[$0].view }
        let state = StateSnapshot(version: batch.stores[index].version, view: view ?? stores[feature]?.view ?? [])
        batch.results.append(
            JobResult(
                call.job, on: batch.stores[index].store, intentID, turn,
                isKept: isKept || refusal != nil, state: state, isOfKeptStore: batch.stores[index].isKept,
                followsPrevious: call.follows, isBootstrap: call.start != nil, links: links))
    }

    private mutating func keep(_ output: borrowing TurnOutput, at index: Int, _ call: TurnCall, now: Duration) {
        let (intentID, receipt, start) = (call.intentID, call.receipt, call.start)
        var kind = StoreChange.Kind.changed
        var (state, view) = (output.state, output.view)
        var setsAside: String?
        switch start {
        case nil, .done?: break
        case .restored(let derived)?: view = view ?? derived
        case .replaces(let reason)?:
            kind = .made
            // Empty for one that is new: nothing is set aside.
            setsAside = reason.isEmpty ? nil : reason
            view = view ?? batch.stores[index].store?.erased.view
            state = state ?? batch.stores[index].store?.erased.state
        }
        guard
            kind == .made || output.isStateChanged || view != nil || !output.labels.isEmpty
                || output.recording != nil || receipt != nil || output.reminders != nil || call.reminder != nil
        else { return }
        batch.count += 1
        let number = lastNumber
        let intent = intentID.isBootstrap ? nil : intentID.text
        if view != nil { batch.stores[index].version = number }
        let version = batch.stores[index].version
        let place = change(index, kind, number, setsAside)
        batch.changes[place].number = number
        batch.changes[place].version = version
        if let state {
            batch.changes[place].state = state
            if !batch.stores[index].lost.isEmpty { setAside(at: index, place) }
        }
        if let view {
            batch.changes[place].view = view
            batch.changes[place].viewIntent = intent
        }
        if !output.labels.isEmpty || output.recording != nil {
            let feature = batch.stores[index].feature
            for (index, label) in output.labels.enumerated() {
                batch.labels.append(
                    StoredLabel(
                        id: LabelID(number: number, index: index), feature: feature, version: version,
                        intent: intent, json: label.json, expiry: now + label.timeToLive))
            }
            if let recording = output.recording {
                batch.recordings.append(
                    RecordedTurn(number: number, feature: feature, time: now, recording: recording))
            }
        }
        if let reminders = output.reminders { keep(reminders, at: index) }
        if let receipt { add(receipt, intentID, .ran(version: version), now: now) }
    }

    private mutating func keep(_ reminders: [EncodedReminder], at index: Int) {
        let feature = batch.stores[index].feature
        for reminder in reminders {
            if let (due, json) = reminder.action {
                note(
                    .set(StoredReminder(feature: feature, id: reminder.id, due: due, number: lastNumber, action: json)))
            } else {
                note(.forgotten(feature, id: reminder.id))
            }
        }
    }

    mutating func note(_ change: ReminderChange) { batch.reminders = (batch.reminders ?? []) + [change] }

    /// The place of a store's change, which begins now if there is none yet, or anew with a store that is made.
    private mutating func change(
        _ index: Int, _ kind: StoreChange.Kind, _ number: UInt64, _ setsAside: String?
    ) -> Int {
        if kind == .changed, let place = batch.stores[index].change { return place }
        if kind == .made { batch.stores[index].made = number }
        let new = StoreChange(
            feature: batch.stores[index].feature, kind: kind, number: number, version: number,
            made: batch.stores[index].made, schemaVersion: batch.stores[index].store?.erased.schemaVersion ?? 1,
            setsAside: setsAside)
        return put(new, at: index)
    }

    /// Has the state that is kept now set aside: the change's state lacks members of it.
    private mutating func setAside(at index: Int, _ place: Int) {
        guard batch.changes[place].kind == .changed else { return }
        let members = batch.stores[index].lost.joined(separator: ", ")
        batch.changes[place].setsAside = "the feature's state does not read these members of it: \(members)"
    }

    private mutating func put(_ change: consuming StoreChange, at index: Int) -> Int {
        if let place = batch.stores[index].change {
            batch.changes[place] = change
            return place
        }
        batch.stores[index].change = batch.changes.count
        batch.changes.append(change)
        return batch.changes.count - 1
    }

    private mutating func add(
        _ receipt: ReceiptName, _ intentID: IntentID, _ outcome: StoredReceipt.Outcome, now: Duration
    ) {
        batch.receipts.append(
            StoredReceipt(
                key: receipt.key, number: lastNumber, bodyHash: receipt.bodyHash, intent: intentID.text,
                outcome: outcome, made: now))
    }

    /// Adds a turn that does nothing but use a number up.
    mutating func add(_ refusal: RecordedRefusal, _ receipt: ReceiptName, _ intentID: IntentID, now: Duration) {
        batch.count += 1
        add(receipt, intentID, .refused(status: refusal.status, body: refusal.body), now: now)
    }

    /// Adds a turn that disposes of a store; nothing if there is none.
    mutating func joinDisposal(_ job: any QueueJob, of feature: FeatureID) {
        let place =
            batch.index(of: feature)
            ?? stores.index(of: feature).map { batch.add(stores[$0]) }
        guard let index = place, !batch.stores[index].isDisposed else { return joinOther(job, isKept: false) }
        batch.count += 1
        let store = batch.stores[index]
        if store.isKept {
            _ = put(
                StoreChange(
                    feature: feature, kind: .disposed, number: lastNumber, version: store.version, made: store.made),
                at: index)
        } else if let place = store.change {
            // The batch itself made it: the journal never hears of it.
            batch.changes.remove(at: place)
            for other in batch.stores.indices where batch.stores[other].change.map({ $0 > place }) == true {
                batch.stores[other].change? -= 1
            }
            batch.stores[index].change = nil
        }
        for reminder in currentReminders where reminder.feature == feature {
            note(.forgotten(feature, id: reminder.id))
        }
        batch.stores[index].store = nil
        batch.stores[index].isDisposed = true
        batch.stores[index].effects = []
        joinOther(job, isKept: true)
    }

    /// Adds a store that is made: its bootstrap is its first turn.
    mutating func joinMade(_ store: SessionStore) {
        guard let index = batch.index(of: store.feature) else {
            return batch.stores.append(
                SessionBatch.Store(feature: store.feature, store: store, version: 0, made: 0, isKept: false))
        }
        batch.stores[index].store = store
        batch.stores[index].isDisposed = false
        batch.stores[index].hasStarted = false
    }

    /// Takes a store back whose bootstrap has to wait for another store.
    mutating func leaveMade(_ store: SessionStore) {
        guard let index = batch.index(of: store.feature), batch.stores[index].store === store else { return }
        if batch.stores[index].isKept || index < batch.stores.count - 1 {
            batch.stores[index].store = nil
            batch.stores[index].isDisposed = true
        } else {
            batch.stores.removeLast()
        }
        store.scope.end()
    }

    /// Adds the result of a job that is no turn of a store.
    mutating func joinOther(_ job: any QueueJob, _ error: StoreError? = nil, isKept: Bool) {
        batch.results.append(
            JobResult(
                job, on: nil, .bootstrap, nil, error: error, isKept: isKept,
                state: StateSnapshot(version: 0, view: [])))
    }
}
