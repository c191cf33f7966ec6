import Locking
import MVI
import SessionJournal
import Synchronization

/// The turns that ran since the last commit: working copies of changed data, and the rows to append.
struct SessionBatch {
    /// A store of the batch's turns, from its first turn to the batch's end. A feature instance that is disposed of and
    /// created again has two.
    struct Entry {
        let feature: FeatureID
        /// Nil for a store that is not in memory and is disposed of.
        let store: SessionStore?
        /// True if the session had it before the batch.
        let isKept: Bool
        /// True if the journal has a row of the feature instance, of this store or of an earlier one.
        let hasRow: Bool
        var isDisposed = false
        /// Its index in `changes`; nil if it has not changed.
        var change: Int?
        /// The number of the last turn that changed the view state.
        var version: UInt64
        /// The number of the turn that created it.
        var made: UInt64
        /// Members that the next commit would lose; see `StoreSlot.lost`.
        var lost: [String] = []
        /// The effects of the turns so far, and the number of its bootstrap's among them.
        var effects: [Effect] = []
        var bootstrapEffects = 0
        var hasStarted = false
        /// The number of its starts that run or wait for another store's start, while those of its start read it as it is.
        var starts = 0

        /// True if its turns observe something.
        var observes: Bool { effects.contains { $0.request?.isObservation == true } }
    }

    /// The number of turn numbers that the turns take.
    var count: UInt64 = 0
    var entries: [Entry] = []
    /// The changes of stores for the journal.
    var changes: [StoreChange] = []
    var labels: [StoredLabel] = []
    var receipts: [StoredReceipt] = []
    /// The recordings of the turns, in order, as far as turns are recorded.
    var recordings: [WitnessedTurn] = []
    var reminders: [ReminderChange] = []
    var results: ShortList<JobResult> = []
    /// Stores whose work begins although no turn asks for it: the node becomes the session's owner.
    var claims: [FeatureID] = []
    /// The time on the monotonic clock at which all labels were dropped; nil if they stay.
    var dropsLabels: Duration?
    /// True if the node releases the session unless a turn launches work; or if it gives its work to the next owner.
    var releasesOwner = false
    var givesAway = false
    /// True if it answers a caller: if other nodes append, even an answer without a turn has to be current.
    var isAnswer = false
    /// The access generation by which the first of its clients was judged; nil if none was.
    var accessGeneration: UInt64?
    /// The callers of a space whose turns it has.
    var callers: ShortList<JudgedCaller> = []
    /// Visits of them that the journal does not have yet.
    var visits: [Visit] = []
    /// The messages that the turns ran for.
    var heard: [HeardMessage] = []

    mutating func add(_ caller: JudgedCaller) {
        // The journal is told of each once. Without other writers there is no bound, so it is not looked for.
        if let expected = caller.expected, callers.contains(where: { $0.expected == expected && $0.isCurrent }) {
            return
        }
        callers.append(caller)
    }

    /// Adds a stored store. Returns its index.
    mutating func add(_ summary: StoreSummary, _ store: SessionStore?, lost: [String]) -> Int {
        entries.append(
            Entry(
                feature: summary.feature, store: store, isKept: true, hasRow: true, version: summary.version,
                made: summary.made, lost: lost))
        return entries.count - 1
    }

    /// The index of a feature instance's last store.
    func index(of feature: FeatureID) -> Int? {
        // By index: a closure would get a copy of each.
        for index in entries.indices.reversed() where entries[index].feature == feature { return index }
        return nil
    }

    /// The last number of a client's own epoch that a turn of the batch used; 0 if none did.
    func lastNumber(_ epoch: String) -> UInt64 {
        receipts.reduce(0) { last, receipt in
            if case .sequence(let number, epoch) = receipt.key { max(last, number) } else { last }
        }
    }
}

/// The name of a request for its receipt.
struct ReceiptName: Sendable {
    let key: ReceiptKey
    let bodyHash: [UInt8]
}

extension SessionCore {
    /// The number of the batch's last turn.
    var lastNumber: UInt64 { head.number + batch.count }

    /// Looks up a request's name by the head and the batch's earlier turns; `reserved` if it is the next.
    func judge(_ name: ReceiptName) -> ReceiptBook.Lookup {
        if let known = receipts.known(name.key, name.bodyHash) { return known }
        guard case .sequence(let number, let epoch) = name.key else { return .reserved }
        let expected = max(receipts.lastNumber(epoch), batch.lastNumber(epoch)) + 1
        if number == expected { return .reserved }
        return .refused(number < expected ? .receiptExpired : .outOfSequence(expected: expected))
    }

    /// The store that a job finds at its turn.
    enum Found {
        /// A store in memory, with the effects of the batch's turns; nil if a start is pending.
        case store(SessionStore, version: UInt64, effects: [Effect]?)
        /// A stored store that is not in memory, and the error of the last load, if any.
        case passive(StoreError?)
        /// No store: the reason why none can be created, and true if another turn of the batch disposed of a stored
        /// one.
        case absent(refusal: StoreError?, wasDisposed: Bool)
    }

    /// Finds a feature instance's store at this point of the batch, which works on it from now on.
    mutating func find(_ feature: FeatureID, limits: SessionLimits, _ lives: StoreLives?) -> Found {
        var place = batch.index(of: feature)
        if place == nil, let index = stores.index(of: feature) {
            guard let store = stores[index].store else {
                return isPastLife(at: index, lives)
                    ? .absent(refusal: refusal, wasDisposed: true) : .passive(rare?.loads.failure(of: feature))
            }
            place = batch.add(stores[index].summary, store, lost: stores[index].rare?.lost ?? [])
        }
        if let place, let store = batch.entries[place].store, !batch.entries[place].isDisposed {
            var effects: [Effect]?
            if case .done = start(at: place) { effects = batch.entries[place].effects }
            return .store(store, version: batch.entries[place].version, effects: effects)
        }
        if let refusal { return .absent(refusal: refusal, wasDisposed: place != nil) }
        let hasRoom = storeCount < limits.storesPerSession || leftStore(limits) != nil
        return .absent(refusal: hasRoom ? nil : .tooManyStores(limits.storesPerSession), wasDisposed: place != nil)
    }

    /// The number of stores at this point of the batch.
    private var storeCount: Int {
        stores.count - batch.entries.count { $0.isDisposed && $0.isKept }
            + batch.entries.count { !$0.isDisposed && !$0.isKept }
    }

    /// Disposes of a store whose place a new one takes: one of the same feature instance whose life is over, or an unused
    /// one if the session is full.
    mutating func makeRoom(for feature: FeatureID, _ limits: SessionLimits, _ lives: StoreLives) {
        if let index = stores.index(of: feature), isPastLife(at: index, lives), batch.index(of: feature) == nil {
            dispose(of: feature)
        } else if storeCount >= limits.storesPerSession, let left = leftStore(limits) {
            dispose(of: left)
        }
    }

    /// The least recently used store that was not used for longer than an anonymous session lives, and that nobody waits
    /// for.
    private func leftStore(_ limits: SessionLimits) -> FeatureID? {
        let reminded = Set(currentReminders.map(\.feature))
        let unused = stores.indices.filter { index in
            lastTouch - stores[index].lastUse > limits.sessionLife && isLeft(stores[index], reminded)
        }
        return unused.min { stores[$0].lastUse < stores[$1].lastUse }.map { stores[$0].feature }
    }

    /// True if nobody waits for anything of a store.
    private func isLeft(_ slot: StoreSlot, _ reminded: Set<FeatureID>) -> Bool {
        let feature = slot.feature
        let isShown = slot.store == nil ? streams.isNamed(feature) : streams.isShown(feature)
        return batch.index(of: feature) == nil && !reminded.contains(feature) && !isShown && slot.waiters.isEmpty
            && slot.store?.isDormant != false
            && !outbox.entries.contains { $0.label.feature == feature && !$0.isWritten }
    }

    /// The index in the batch of a store in memory; nil if it is not the feature instance's store any more.
    mutating func work(on store: SessionStore) -> Int? {
        if let place = batch.index(of: store.feature) {
            return batch.entries[place].store === store && !batch.entries[place].isDisposed ? place : nil
        }
        guard let index = stores.index(of: store.feature), stores[index].store === store else { return nil }
        return batch.add(stores[index].summary, store, lost: stores[index].rare?.lost ?? [])
    }

    /// The pending start of a store in memory.
    func start(at place: Int) -> StoreSlot.Start {
        if batch.entries[place].hasStarted { return .done }
        guard batch.entries[place].isKept else { return .replaces("") }
        return stores.index(of: batch.entries[place].feature).map { stores[$0].start } ?? .done
    }

    /// Adds a turn that has an outcome. A turn without a trace takes no number.
    mutating func join(
        _ call: TurnCall, _ turn: TurnResult, _ verdict: TurnVerdict, at index: Int, refusal: RecordedRefusal?,
        now: Duration
    ) {
        let (intentID, receipt) = (call.context.intentID, call.receipt)
        if call.start != nil { batch.entries[index].hasStarted = true }
        if case .reminder(let reminder) = call.kind, verdict.forgetsReminder {
            batch.reminders.append(.forgotten(reminder.feature, id: reminder.id))
            // A turn that did nothing else takes a number for it.
            if !verdict.keepsTurn { batch.count += 1 }
        }
        if verdict.keepsTurn {
            if case .message(let message) = call.kind { batch.heard.append(message.heard) }
            keep(turn, at: index, call, now: now)
            if !turn.effects.isEmpty {
                batch.entries[index].effects += turn.effects
                if call.start != nil {
                    // It is the store's first turn in the batch.
                    batch.entries[index].bootstrapEffects = batch.entries[index].effects.count
                } else if turn.effects.contains(where: \.watches) {
                    // Any node can register again what bootstrap registers for watchers; only this one knows the rest.
                    batch.claims.append(batch.entries[index].feature)
                }
            }
        } else {
            if let receipt, let refusal { add(refusal, receipt, intentID, now: now) }
            if let recording = turn.recording {
                if receipt == nil || refusal == nil { batch.count += 1 }
                let feature = batch.entries[index].feature
                batch.recordings.append(
                    WitnessedTurn(
                        turn: RecordedTurn(number: lastNumber, feature: feature, time: now, recording: recording),
                        state: turn.state))
            }
        }
        let feature = batch.entries[index].feature
        let view = batch.entries[index].change.flatMap { batch.changes[$0].view }
        let state = StateSnapshot(
            version: batch.entries[index].version, view: view ?? stores[feature]?.view ?? [], epoch: epoch)
        batch.results.append(
            JobResult(
                call.job, on: batch.entries[index].store, intentID, turn,
                isKept: verdict.keepsTurn || verdict.forgetsReminder || refusal != nil || turn.recording != nil,
                state: state,
                isOfKeptStore: batch.entries[index].isKept, followsPrevious: call.follows,
                isBootstrap: call.start != nil))
    }

    private mutating func keep(_ turn: TurnResult, at index: Int, _ call: TurnCall, now: Duration) {
        let (intentID, receipt, start) = (call.context.intentID, call.receipt, call.start)
        var kind = StoreChange.Kind.changed
        var (state, view) = (turn.state, turn.view)
        var setsAside: String?
        switch start {
        case nil, .done?: break
        case .restored(let derived)?: view = view ?? derived
        case .replaces(let reason)?:
            kind = .made
            // Empty for a new store: nothing is set aside.
            setsAside = reason.isEmpty ? nil : reason
            let beginning = batch.entries[index].store?.beginning
            (view, state) = (view ?? beginning?.view, state ?? beginning?.state)
        }
        guard
            kind == .made || state != nil || view != nil || !turn.labels.isEmpty
                || turn.recording != nil || receipt != nil || turn.reminders != nil || call.removesRow
        else { return }
        batch.count += 1
        let number = lastNumber
        let intent = intentID.isBootstrap ? nil : intentID.text
        if view != nil { batch.entries[index].version = number }
        if kind == .made { batch.entries[index].made = number }
        let version = batch.entries[index].version
        if kind == .changed, let place = batch.entries[index].change {
            (batch.changes[place].number, batch.changes[place].version) = (number, version)
            if let state { batch.changes[place].state = state }
            if let view { (batch.changes[place].view, batch.changes[place].viewIntent) = (view, intent) }
        } else {
            put(
                StoreChange(
                    feature: batch.entries[index].feature, kind: kind, number: number, version: version,
                    made: batch.entries[index].made,
                    schemaVersion: batch.entries[index].store?.definition.schemaVersion ?? 1, state: state, view: view,
                    viewIntent: view == nil ? nil : intent, setsAside: setsAside), at: index)
        }
        if state != nil, !batch.entries[index].lost.isEmpty { setAside(at: index) }
        if !turn.labels.isEmpty || turn.recording != nil {
            let feature = batch.entries[index].feature
            for (index, label) in turn.labels.enumerated() {
                batch.labels.append(
                    StoredLabel(
                        id: LabelID(number: number, index: index), feature: feature, version: version,
                        intent: intent, json: label.json, expiry: now + label.timeToLive, to: label.to))
            }
            if let recording = turn.recording {
                batch.recordings.append(
                    WitnessedTurn(
                        turn: RecordedTurn(number: number, feature: feature, time: now, recording: recording),
                        state: turn.state))
                for effect in turn.effects { effect.request?.origin.note(turn: number) }
            }
        }
        if let reminders = turn.reminders {
            let feature = batch.entries[index].feature
            batch.reminders += reminders.changes(of: feature, number: number, epoch: epoch)
        }
        if let receipt { add(receipt, intentID, .ran(version: version), now: now) }
    }

    /// Has the stored state set aside, since the new state lacks members of it.
    private mutating func setAside(at index: Int) {
        guard let place = batch.entries[index].change, batch.changes[place].kind == .changed else { return }
        let members = batch.entries[index].lost.joined(separator: ", ")
        batch.changes[place].setsAside = "the feature's state does not read these members of it: \(members)"
    }

    /// Records a store's change, in place of the batch's earlier change.
    private mutating func put(_ change: consuming StoreChange, at index: Int) {
        if let place = batch.entries[index].change {
            batch.changes[place] = change
        } else {
            batch.entries[index].change = batch.changes.count
            batch.changes.append(change)
        }
    }

    private mutating func add(
        _ receipt: ReceiptName, _ intentID: IntentID, _ outcome: StoredReceipt.Outcome, now: Duration
    ) {
        batch.receipts.append(
            StoredReceipt(
                key: receipt.key, number: lastNumber, bodyHash: receipt.bodyHash, intent: intentID.text,
                outcome: outcome, made: now))
    }

    /// Adds a turn that only consumes a number.
    mutating func add(_ refusal: RecordedRefusal, _ receipt: ReceiptName, _ intentID: IntentID, now: Duration) {
        batch.count += 1
        add(receipt, intentID, .refused(status: refusal.status, body: refusal.body), now: now)
    }

    /// Adds a turn that disposes of a store. Returns false, and adds nothing, if there is none.
    @discardableResult
    mutating func dispose(of feature: FeatureID) -> Bool {
        let place =
            batch.index(of: feature)
            ?? stores.index(of: feature).map { batch.add(stores[$0].summary, stores[$0].store, lost: stores[$0].lost) }
        guard let index = place, !batch.entries[index].isDisposed else { return false }
        batch.count += 1
        let store = batch.entries[index]
        if store.hasRow {
            put(
                StoreChange(
                    feature: feature, kind: .disposed, number: lastNumber, version: store.version, made: store.made),
                at: index)
        } else if let place = store.change {
            // The batch itself created it: the journal is not told.
            batch.changes.remove(at: place)
            for other in batch.entries.indices where batch.entries[other].change.map({ $0 > place }) == true {
                batch.entries[other].change? -= 1
            }
            batch.entries[index].change = nil
        }
        // What it told others is still told.
        for reminder in currentReminders where reminder.feature == feature && !Message.names(reminder) {
            batch.reminders.append(.forgotten(feature, id: reminder.id))
        }
        batch.entries[index].isDisposed = true
        return true
    }

    /// Adds a created store, with its bootstrap as its first turn.
    mutating func joinMade(_ store: SessionStore) {
        var entry = SessionBatch.Entry(
            feature: store.feature, store: store, isKept: false, hasRow: false, version: 0, made: 0)
        if let earlier = batch.index(of: store.feature) {
            // The journal is told only of the last of a feature instance's stores.
            entry = SessionBatch.Entry(
                feature: store.feature, store: store, isKept: false, hasRow: batch.entries[earlier].hasRow,
                change: batch.entries[earlier].change.take(), version: 0, made: 0)
        }
        batch.entries.append(entry)
    }

    /// Removes a created store whose bootstrap has to wait for another store. Returns true if the caller has to end it.
    mutating func leaveMade(_ store: SessionStore) -> Bool {
        guard let index = batch.index(of: store.feature), batch.entries[index].store === store,
            !batch.entries[index].isKept, !batch.entries[index].hasStarted
        else { return false }
        let change = batch.entries[index].change
        batch.entries.remove(at: index)
        if let earlier = batch.index(of: store.feature) { batch.entries[earlier].change = change }
        return true
    }

    /// Adds the result of a job that is not a turn of a store.
    mutating func joinOther(_ job: any QueueJob, _ outcome: TurnOutcome = .ran, isKept: Bool) {
        batch.results.append(JobResult(job, outcome, isKept: isKept))
    }
}
