import Locking
import MVI
import SessionJournal
import WireJSON

/// Checks every commit of one session against the previous commits, the answers to clients and the possible effects of
/// their intents.
final class SessionLog: Sendable {
    struct Store {
        var state: ChoreState
        var made: UInt64
        /// The number of its last turn.
        var number: UInt64
        /// The time of its last turn, since 1970.
        var used: Duration
    }

    struct Label {
        let id: LabelID
        let feature: FeatureID
        let content: ChoreLabel
        /// The time since 1970.
        let expiry: Duration
        /// True if the limit of labels dropped it.
        var isDropped = false
    }

    struct Intent {
        let intent: ChoreIntent
        let feature: FeatureID
        /// The number of attempts and of runs.
        var attempts = 0
        var runs = 0
        /// True if a client was told that it did not run and never will.
        var isRefused = false
        /// The number of changes of access at the first attempt; -1 during a change.
        let changes: Int
    }

    struct State {
        var head: UInt64 = 0
        var stores: [FeatureID: Store] = [:]
        var views: [FeatureID: [UInt64: ChoreState]] = [:]
        var labels: [Label] = []
        var intents: [Int: Intent] = [:]
        var reminders: [ReminderKey: ChoreDeed] = [:]
        /// All deeds of reminders so far.
        var deeds: [ChoreDeed] = []
        /// The reminders that the newest build can read.
        var readable: Set<ReminderKey> = []
        /// The lives of all stored stores.
        var lives: Set<Int> = []
        var rung: Set<Int> = []
        /// Counted work of this process that is running.
        var open: [Int: [FeatureID]] = [:]
        /// The stores at the time of a client's sign-in, by the turns that created them.
        var signInStores: [FeatureID: UInt64]?
        var isAnonymous = false
        /// The lifetime of unused drawers; nil if it is the session's.
        var drawerLife: Duration?
        var endsWork = false
        var isRemoved = false
        /// The number of started and ended disposals of a store, and of those in progress.
        var removals: [FeatureID: (count: Int, pending: Int)] = [:]
        var crashes = 0
        /// The first finding, except known faults, and the known faults that were found.
        var finding: ChoreFinding?
        var knownFindings: [ChoreFinding] = []
    }

    struct ReminderKey: Hashable {
        let feature: FeatureID
        let id: String
    }

    let limits: (reminders: Int, labels: Int)
    let hooks: ChoreHooks
    private let now: @Sendable () -> Duration
    let state = Lock(State())
    private let story: Lock<[String]>?

    init(
        _ hooks: ChoreHooks, reminders: Int, labels: Int, now: @escaping @Sendable () -> Duration,
        _ story: Lock<[String]>?
    ) {
        (self.hooks, limits, self.now, self.story) = (hooks, (reminders, labels), now, story)
    }

    func tell(_ text: @autoclosure () -> String) {
        guard let story else { return }
        let text = text()
        story.withLock { $0.append(text) }
    }

    var head: UInt64 { state.withLock { $0.head } }
    var isRemoved: Bool { state.withLock { $0.isRemoved } }
    var finding: ChoreFinding? { state.withLock { $0.finding } }
    var knownFindings: [ChoreFinding] { state.withLock { $0.knownFindings } }

    func note(_ text: String, _ fault: CoreFault? = nil) {
        state.withLock { $0.note(text, fault) }
    }

    // MARK: Clients

    /// Records that an intent is sent.
    ///
    /// - Parameter changes: the number of changes of access so far.
    func sent(_ intent: ChoreIntent, to feature: FeatureID, changes: Int) {
        let new = Intent(intent: intent, feature: feature, changes: changes)
        state.withLock { $0.intents[intent.number, default: new].attempts += 1 }
    }

    func removalBegan(_ feature: FeatureID) {
        state.withLock { state in
            let old = state.removals[feature] ?? (0, 0)
            state.removals[feature] = (old.count + 1, old.pending + 1)
        }
    }

    func removalEnded(_ feature: FeatureID) {
        state.withLock { state in
            let old = state.removals[feature] ?? (0, 0)
            state.removals[feature] = (old.count + 1, max(0, old.pending - 1))
        }
    }

    /// The number of started and ended disposals of a store; -1 during a disposal.
    func disposals(of feature: FeatureID) -> Int {
        state.withLock { state in
            let (count, pending) = state.removals[feature] ?? (0, 0)
            return pending > 0 ? -1 : count
        }
    }

    /// Records that a client was told that its intent did not run and never will.
    func refused(_ number: Int, _ why: String) {
        state.withLock { state in
            state.intents[number]?.isRefused = true
            guard let intent = state.intents[number], intent.runs > 0 else { return }
            state.note("the intent \(number) was refused (\(why)) and ran: \(intent.intent)")
        }
    }

    /// Records that a client was told that its intent ran and is settled.
    func settled(_ number: Int) {
        let open = state.withLock { $0.endsWork ? [] : $0.open[number] ?? [] }.filter {
            !hooks.hasEnded(number, in: $0.text)
        }
        if !open.isEmpty { note("the intent \(number) is settled, and its work in \(open) is not", .settledTooEarly) }
    }

    /// Forgets published labels: a client that signs in gets none from before.
    func dropLabels() {
        state.withLock { state in for place in state.labels.indices { state.labels[place].isDropped = true } }
    }

    /// Checks a view against the commit of its version.
    func shown(_ view: ChoreState, of feature: FeatureID, version: UInt64) {
        state.withLock { state in
            guard let known = state.views[feature]?[version] else {
                return state.note("version \(version) of \(feature) is shown, and none is kept: \(view)")
            }
            if known != view { state.note("version \(version) of \(feature) is \(known) and is shown as \(view)") }
        }
    }

    // MARK: The journal

    func crashed() {
        state.withLock { state in
            state.open = [:]
            state.crashes += 1
        }
    }

    /// Records that the requests of a crashed process are over.
    func restarted() {
        state.withLock { state in state.removals = state.removals.mapValues { ($0.count + 1, 0) } }
    }

    /// From now on all work may end without a result.
    func workEnds() { state.withLock { $0.endsWork = true } }

    /// Records a change of credentials; the first one is a sign-in.
    func changed(_ change: CredentialChange) {
        tell(
            "kept of \(change.subject?.id ?? "nobody"): \(change.kept.map(\.number)), removed \(change.removed.count), "
                + "reminders of \(change.reminders.map { "\($0.feature)" })")
        state.withLock { state in
            guard state.isAnonymous, change.subject != nil else { return }
            state.isAnonymous = false
            state.signInStores = state.stores.mapValues(\.made)
        }
    }

    func removed() {
        state.withLock { state in
            state.isRemoved = true
            state.open = [:]
        }
    }

    func committed(_ batch: JournalBatch) {
        tell(
            "kept \(batch.head.number): \(batch.stores.map { "\($0.feature) \($0.kind) \($0.number)" }) "
                + "labels \(batch.labels.map { "\($0.id)" }) reminders \(batch.reminders.map(\.told))")
        let now = now()
        state.withLock { state in
            if state.isRemoved { state.note("a turn was kept of a session that was removed") }
            state.head = batch.head.number
            let before = state.stores
            var entered: [FeatureID: [ChoreIntent]] = [:]
            for change in batch.stores { state.apply(change, at: batch.time, &entered, hooks) }
            for (feature, intents) in entered {
                for intent in intents { state.checkChain(intent, feature, batch, before) }
            }
            for change in batch.reminders { state.apply(change, batch, before, entered) }
            if state.reminders.count > limits.reminders {
                state.note("the session has \(state.reminders.count) reminders", .tooManyReminders)
            }
            for label in batch.labels { state.append(label) }
            state.trim(now: now, limit: limits.labels)
        }
    }
}

extension SessionLog.State {
    mutating func note(_ text: String, _ fault: CoreFault? = nil) {
        let found = ChoreFinding(text: text, fault: fault)
        guard let fault, CoreFault.known.contains(fault) else {
            finding = finding ?? found
            return
        }
        if !knownFindings.contains(where: { $0.fault == fault }) { knownFindings.append(found) }
    }

    fileprivate mutating func apply(
        _ change: StoreChange, at now: Duration, _ entered: inout [FeatureID: [ChoreIntent]], _ hooks: ChoreHooks
    ) {
        let feature = change.feature
        let old = stores[feature].flatMap { $0.made == change.made && change.kind != .disposed ? $0.state : nil }
        if old == nil, let store = stores[feature] {
            checkLife(of: store, feature, now)
            for (number, features) in open { open[number] = features.filter { $0 != feature } }
            stores[feature] = nil
        }
        guard change.kind != .disposed else { return }
        guard let bytes = change.state ?? change.view else { return }
        guard let new = try? WireJSON.decode(ChoreState.self, from: bytes) else {
            return note("the state of \(feature) cannot be read: \(String(decoding: bytes, as: UTF8.self))")
        }
        stores[feature] = SessionLog.Store(state: new, made: change.made, number: change.number, used: now)
        if let view = change.view, let view = try? WireJSON.decode(ChoreState.self, from: view) {
            views[feature, default: [:]][change.version] = view
        }
        lives.insert(new.life)
        check(new, since: old ?? ChoreState(life: new.life), feature, &entered)
    }

    /// Checks a store that is replaced or disposed of without a request.
    private mutating func checkLife(of store: SessionLog.Store, _ feature: FeatureID, _ now: Duration) {
        guard let life = drawerLife, feature.name == "drawer", removals[feature]?.pending ?? 0 == 0 else { return }
        let unused = now - store.used
        if unused < life { note("\(feature) was disposed of \(unused) after its last turn") }
        if reminders.keys.contains(where: { $0.feature == feature }) {
            note("\(feature) was disposed of with a reminder")
        }
    }

    private mutating func check(
        _ new: ChoreState, since old: ChoreState, _ feature: FeatureID, _ entered: inout [FeatureID: [ChoreIntent]]
    ) {
        guard new.life == old.life, new.entries.starts(with: old.entries), new.passed.starts(with: old.passed),
            new.worked.starts(with: old.worked), new.rung.starts(with: old.rung)
        else { return note("\(feature) was \(old) and is \(new)") }
        for number in new.entries.dropFirst(old.entries.count) {
            guard var intent = intents[number] else { return note("\(feature) has \(number), which was not sent") }
            intent.runs += 1
            intents[number] = intent
            entered[feature, default: []].append(intent.intent)
            if intent.runs > 1 {
                note("\(intent.intent) ran \(intent.runs) times: \(new.entries)", .refusedStateKept)
            }
            if intent.isRefused { note("\(intent.intent) was refused and is kept", .refusedStateKept) }
            if intent.intent.isUndone { note("\(intent.intent) is kept") }
        }
        for number in new.opened.dropFirst(old.opened.count) { open[number, default: []].append(feature) }
        for number in new.worked.dropFirst(old.worked.count) {
            if let place = open[number]?.firstIndex(of: feature) { open[number]?.remove(at: place) }
            if !new.opened.contains(number) { note("work of \(number) arrived in \(feature), which did not launch it") }
        }
        for number in new.rung.dropFirst(old.rung.count) where !rung.insert(number).inserted {
            note("the reminder \(number) fired twice")
        }
        if !new.strayed.isEmpty { note("work of an earlier store arrived in \(feature): \(new.strayed)") }
        if new.signedIn.count > 1 { note("\(feature) was told of a sign-in \(new.signedIn.count) times") }
        if !new.filler.isEmpty || new.ratio != 0 { note("\(feature) has what cannot be kept") }
    }

    /// Checks that the intents of a turn to other stores are committed with it.
    fileprivate mutating func checkChain(
        _ intent: ChoreIntent, _ feature: FeatureID, _ batch: JournalBatch, _ before: [FeatureID: SessionLog.Store]
    ) {
        guard case .pass(let number, _) = intent else { return }
        let other = feature.otherChore
        // Another turn of the batch may have disposed it.
        guard let store = stores[other], before[other]?.made ?? store.made == store.made else { return }
        if !store.state.passed.contains(number),
            !batch.stores.contains(where: { $0.feature == other && $0.kind != .changed })
        {
            note("\(intent) of \(feature) is kept without what it sent", .refusedStateKept)
        }
    }

    // MARK: Reminders

    fileprivate mutating func apply(
        _ change: ReminderChange, _ batch: JournalBatch, _ before: [FeatureID: SessionLog.Store],
        _ entered: [FeatureID: [ChoreIntent]]
    ) {
        switch change {
        case .set(let reminder):
            guard let deed = reminder.deed else { return note("a reminder cannot be read") }
            let key = SessionLog.ReminderKey(feature: reminder.feature, id: reminder.id)
            reminders[key] = deed
            deeds.append(deed)
            let isReadable = (try? WireJSON.decode(SecondAction.self, from: reminder.action)) != nil
            if isReadable { readable.insert(key) } else { readable.remove(key) }
        case .forgotten(let feature, let id):
            guard let deed = reminders.removeValue(forKey: SessionLog.ReminderKey(feature: feature, id: id)) else {
                return
            }
            let isStoreGone = batch.stores.contains { $0.feature == feature && $0.kind != .changed }
            guard !isStoreGone, let store = stores[feature]?.state else { return }
            if store.rung.contains(deed.number) { return }
            let hushes = entered[feature, default: []].contains { intent in
                if case .hush(_, id) = intent { true } else { false }
            }
            if hushes || deed.fate == .refuses { return }
            guard deed.fate.isUndone else { return note("the reminder \(deed) was forgotten and did not fire") }
            if store.givenUp.count == before[feature]?.state.givenUp.count {
                note("the reminder \(deed) was given up, and the feature was not told", .reminderForEver)
            }
        }
    }

    // MARK: Labels

    fileprivate mutating func append(_ label: StoredLabel) {
        guard let content = try? WireJSON.decode(ChoreLabel.self, from: label.json) else {
            return note("a label cannot be read")
        }
        if case .said(let number) = content, let intent = intents[number], intent.isRefused || intent.intent.isUndone {
            note("a label of a turn that was undone is kept: \(intent.intent)")
        }
        labels.append(
            SessionLog.Label(id: label.id, feature: label.feature, content: content, expiry: label.expiry))
    }

    /// Drops the unexpired labels that exceed the limit.
    fileprivate mutating func trim(now: Duration, limit: Int) {
        var count = 0
        for place in labels.indices.reversed() where labels[place].expiry > now && !labels[place].isDropped {
            count += 1
            if count > limit { labels[place].isDropped = true }
        }
    }
}

extension ReminderChange {
    fileprivate var told: String {
        switch self {
        case .set(let reminder): "\(reminder.feature) \(reminder.id) at \(reminder.due)"
        case .forgotten(let feature, let id): "\(feature) \(id) forgotten"
        }
    }
}

extension StoredReminder {
    /// The deed in the form of any build.
    var deed: ChoreDeed? {
        (try? WireJSON.decode(FirstAction.self, from: action).deed)
            ?? (try? WireJSON.decode(SecondAction.self, from: action).deed)
    }
}
