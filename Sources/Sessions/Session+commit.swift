import Locking
import MVI
import SessionJournal

/// How a store's commit ended, as its log is told.
enum SessionCommit: Sendable {
    /// The turns are permanent and shown.
    case committed
    /// Another writer was first, and this is the head that it left.
    case conflict(StoredStore)
    /// The turns certainly are not permanent.
    case failed(CommitFailure)
}

/// An append that was committed: what is left to show.
struct CommittedAppend: Sendable {
    let batch: EncodedBatch
    let feature: FeatureID
    let number: UInt64
    let append: StoreAppend
    let done: @Sendable (SessionCommit) -> Void
}

extension Session {
    /// Makes a store's turns permanent, then visible: versions, outbox, receipts and the streams' sets of features to
    /// show change in one step under the lock, in the order of sequence numbers; streams are written to after it.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` later.
    func commit(
        _ batch: EncodedBatch, feature: FeatureID, number: UInt64,
        done: @escaping @Sendable (SessionCommit) -> Void
    ) -> SessionCommit? {
        let now = environment.time.sinceEpoch()
        let prepared = core.withLock { core in
            core.prepare(batch, feature: feature, number: number, session: self, now: now)
        }
        switch prepared {
        case .gone: return .failed(CommitFailure(.disposed, "The store was disposed meanwhile."))
        case .nothing: return .committed
        case .append(let append, let store):
            let committed = CommittedAppend(
                batch: batch, feature: feature, number: number, append: store, done: done)
            let result = environment.journal.append(append) { [self] result in
                if let outcome = finish(committed, result) { done(outcome) }
            }
            return result.flatMap { finish(committed, $0) }
        }
    }

    /// Takes the journal's word; nil if `done` will be called later.
    private func finish(_ committed: CommittedAppend, _ result: AppendResult) -> SessionCommit? {
        switch result {
        case .committed(let sequence): return take(committed, sequence)
        case .conflict:
            landed()
            reload(committed)
            return nil
        case .duplicate(let receipt):
            let clocks = (monotonic: environment.time.monotonic(), sinceEpoch: environment.time.sinceEpoch())
            core.withLock { $0.receipts.adopt(receipt) { clocks.monotonic - (clocks.sinceEpoch - $0) } }
            landed()
            return .failed(CommitFailure(.duplicate, "The request was committed before."))
        case .failed(let failure):
            landed()
            // Whoever deleted it was not this object.
            if failure.code == .gone { end(.ended) }
            return .failed(CommitFailure(failure))
        case .unknown(let failure):
            settle(committed, failure)
            return nil
        }
    }

    /// An append is over that changed nothing here.
    private func landed() {
        let mustCatchUp = core.withLock { core in
            core.appendsInFlight -= 1
            return core.isMissingOthers
        }
        if mustCatchUp { catchUp() }
    }

    /// Shows committed turns, and those that waited for them.
    private func take(_ committed: CommittedAppend, _ sequence: UInt64) -> SessionCommit? {
        let now = environment.time.monotonic()
        let (outcome, followers, mustCatchUp) = core.withLock {
            core -> (SessionCore.Shown?, [(CommittedAppend, SessionCore.Shown)], Bool) in
            guard sequence <= core.sequence + 1 else {
                // The turns between are another commit's of this session whose result is on its way here, or another
                // writer's.
                core.early[sequence] = committed
                return (nil, [], core.isMissingOthers)
            }
            core.appendsInFlight -= 1
            let shown = core.take(committed, sequence: sequence, now: now, limits: environment.limits)
            return (shown, core.takeFollowers(now: now, limits: environment.limits), core.isMissingOthers)
        }
        if let outcome { show(outcome, committed.feature) }
        show(followers)
        if mustCatchUp { catchUp() }
        return outcome.map { $0.isGone ? .failed(.storeIsGone) : .committed }
    }

    private func show(_ shown: SessionCore.Shown, _ feature: FeatureID) {
        for waker in shown.wakers { waker.wake() }
        for waiter in shown.waiters { waiter.resume() }
        if shown.undelivered > 0 {
            environment.report(.undelivered(count: shown.undelivered, instance: feature.text))
        }
    }

    /// Shows commits that waited for others, and tells their stores.
    private func show(_ followers: [(CommittedAppend, SessionCore.Shown)]) {
        for (follower, shown) in followers {
            show(shown, follower.feature)
            follower.done(shown.isGone ? .failed(.storeIsGone) : .committed)
        }
    }

    // MARK: Other writers and unknown outcomes

    /// Another writer was first: takes over what it left, and hands the new head to the store.
    private func reload(_ committed: CommittedAppend) {
        let done = committed.done
        loadHead(of: committed) { [self] head in
            guard let head else {
                if committed.append.expecting == nil {
                    // It was there, and is gone again: this one can still be the first.
                    return done(.failed(CommitFailure(.unavailable, "Another writer made and removed the store.")))
                }
                // Removed by another writer: here it ends as if it had been removed through this session.
                for wake in forgetStore(committed.feature, number: committed.number) { wake() }
                return done(.failed(.storeIsGone))
            }
            adopt(head, committed)
            catchUp()
            done(.conflict(head))
        }
    }

    /// Nobody knows whether it was committed; the store's token tells, as soon as the journal can be read.
    private func settle(_ committed: CommittedAppend, _ failure: JournalFailure) {
        let done = committed.done
        loadHead(of: committed) { [self] head in
            guard head?.summary.token == committed.append.token else {
                landed()
                guard
                    head == nil && committed.append.expecting == nil
                        || head?.summary.token == committed.append.expecting
                else { return reload(committed) }
                return done(.failed(CommitFailure(.unavailable, failure.detail)))
            }
            // It was. Its sequence numbers and labels come with whatever else is new.
            readNews { [self] stored in
                guard let stored else {
                    landed()
                    return done(.failed(.storeIsGone))
                }
                let now = environment.time.monotonic()
                let (shown, followers) = core.withLock { core in
                    core.appendsInFlight -= 1
                    let news = core.merge(stored, clocks: clocks)
                    var shown = core.take(
                        committed, sequence: core.sequence, now: now, limits: environment.limits)
                    shown.wakers += news
                    return (shown, core.takeFollowers(now: now, limits: environment.limits))
                }
                show(shown, committed.feature)
                show(followers)
                done(shown.isGone ? .failed(.storeIsGone) : .committed)
            }
        }
    }

    /// Reads what other writers appended and shows it.
    private func catchUp() {
        let isFirst = core.withLock { core in
            defer { core.isCatchingUp = true }
            return !core.isCatchingUp
        }
        guard isFirst else { return }
        readNews { [self] stored in
            let now = environment.time.monotonic()
            let (wakers, followers, isBehind) = core.withLock { core in
                core.isCatchingUp = false
                guard let stored else { return ([any StreamWaker](), core.giveUpEarly(), false) }
                let wakers = core.merge(stored, clocks: clocks)
                // More may have come since the journal was read.
                return (
                    wakers, core.takeFollowers(now: now, limits: environment.limits), core.isMissingOthers
                )
            }
            for waker in wakers { waker.wake() }
            show(followers)
            if isBehind { catchUp() }
        }
    }

    private var clocks: (monotonic: Duration, sinceEpoch: Duration) {
        (environment.time.monotonic(), environment.time.sinceEpoch())
    }

    /// Takes another writer's head for a store's own.
    private func adopt(_ head: StoredStore, _ committed: CommittedAppend) {
        let (wakers, waiters) = core.withLock { core -> ([any StreamWaker], [StateWaiter]) in
            guard var slot = core.stores[committed.feature], slot.number == committed.number else { return ([], []) }
            slot.token = head.summary.token
            slot.version = max(slot.version, head.summary.token.version)
            slot.view = head.view
            slot.intentID = head.viewIntent.map { IntentID($0) }
            slot.stateEvent = nil
            slot.unwrittenState = nil
            let waiters = slot.waiters
            slot.waiters = []
            core.stores[committed.feature] = slot
            return (core.markDirty(committed.feature), waiters)
        }
        for waker in wakers { waker.wake() }
        for waiter in waiters { waiter.resume() }
    }

    /// Loads a store's head, as often as it takes; nil if there is none.
    private func loadHead(
        of committed: CommittedAppend, then: @escaping @Sendable (StoredStore?) -> Void
    ) {
        environment.journal.loadStores([committed.feature], of: key) { [self] result in
            switch result {
            case .success(let stores): then(stores.first)
            case .failure(let failure) where failure.code == .gone || failure.code == .closed || isEnded: then(nil)
            case .failure: tryAgain { [self] in loadHead(of: committed, then: then) }
            }
        }
    }

    /// Loads the session, as often as it takes; nil if it is gone.
    private func readNews(then: @escaping @Sendable (StoredSession?) -> Void) {
        environment.journal.load(tokenHash, now: environment.time.sinceEpoch()) { [self] result in
            switch result {
            case .success(.found(let stored)): then(stored)
            case .success: then(nil)
            case .failure(let failure) where failure.code == .closed || isEnded: then(nil)
            case .failure: tryAgain { [self] in readNews(then: then) }
            }
        }
    }

    private func tryAgain(_ action: @escaping @Sendable () -> Void) {
        let clock = environment.clock
        Task(executorPreference: environment.executor) {
            // Nobody cancels it.
            try? await clock.sleep(for: .milliseconds(250))
            action()
        }
    }
}

extension CommitFailure {
    static let storeIsGone = CommitFailure(.disposed, "The store was disposed meanwhile.")

    init(_ failure: JournalFailure) {
        switch failure.code {
        case .full: self.init(.full, failure.detail)
        case .gone: self.init(.disposed, failure.detail)
        case .invalid: self.init(.invalid, failure.detail)
        case .unavailable, .closed, .exists: self.init(.unavailable, failure.detail)
        }
    }
}

extension SessionCore {
    /// Whom a commit concerns.
    struct Shown {
        var wakers: [any StreamWaker] = []
        var waiters: [StateWaiter] = []
        var undelivered = 0
        /// Whether the store was gone already.
        var isGone = false
    }

    fileprivate enum Prepared {
        case gone
        case nothing
        case append(JournalAppend, StoreAppend)
    }

    /// Makes an append of a batch.
    fileprivate mutating func prepare(
        _ batch: EncodedBatch, feature: FeatureID, number: UInt64, session: Session, now: Duration
    ) -> Prepared {
        guard var slot = stores[feature], slot.number == number else { return .gone }
        if batch.isEmpty, slot.unwrittenState == nil {
            // Nothing that anybody could tell: there is nothing to make permanent.
            for turn in batch.turns {
                turn.reply?.committed(PendingReply.Commit(version: slot.version, view: slot.view))
            }
            return .nothing
        }
        var version = slot.version
        var view: [UInt8]?
        var viewIntent = slot.intentID?.text
        var turns: [TurnAppend] = []
        turns.reserveCapacity(batch.turns.count)
        var found: [StoredReceipt] = []
        for turn in batch.turns {
            if let changed = turn.view {
                version += 1
                view = changed
                viewIntent = turn.shownIntent?.text
            }
            var labels: [LabelAppend] = []
            if !turn.labels.isEmpty {
                slot.marks.hasLabels = true
                labels = turn.labels.map { label in
                    LabelAppend(
                        version: version, intent: turn.shownIntent?.text, json: label.json,
                        expiry: now + label.timeToLive)
                }
            }
            turns.append(
                TurnAppend(
                    labels: labels, recording: turn.recording,
                    recordingLimit: turn.recording == nil ? 0 : session.environment.limits.recordedTurns))
            if let key = turn.reply?.receipt, let receipt = receipts[key] {
                found.append(
                    StoredReceipt(
                        key: key, bodyHash: receipt.bodyHash, intent: receipt.intentID.text,
                        outcome: .ran(version: version), made: now))
            }
        }
        let token = StoreToken(version: version, nonce: nonces.next())
        let store = StoreAppend(
            feature: feature, expecting: slot.token, token: token, schemaVersion: batch.schemaVersion,
            state: batch.state ?? slot.unwrittenState, view: view ?? (slot.unwrittenState == nil ? nil : slot.view),
            viewIntent: viewIntent, marks: slot.marks, turns: turns, setsAside: slot.setsAside)
        stores[feature] = slot
        appendsInFlight += 1
        return .append(housekeeping(session, store, found, now: now), store)
    }

    /// An append, with everything that the journal is to know beside.
    mutating func housekeeping(
        _ session: Session, _ store: StoreAppend?, _ found: [StoredReceipt], now: Duration
    ) -> JournalAppend {
        let forgotten = receipts.takeForgotten()
        var append = JournalAppend(
            session: session.key, time: now, store: store, receipts: found, forgottenReceipts: forgotten.receipts,
            forgottenEpochs: forgotten.epochs)
        let first = outbox.firstID(after: sequence)
        if outbox.firstNumber > 0, first > keptFirstLabel {
            append.firstLabel = first
            keptFirstLabel = first
        }
        if marksChanged {
            append.marks = keptMarks
            marksChanged = false
        }
        return append
    }

    /// The session's marks as they are kept: where a label of a store was dropped, the session remembers it until the
    /// store does.
    var keptMarks: SessionMarks {
        var kept = marks
        for slot in stores.values {
            kept.droppedSequence = max(kept.droppedSequence, slot.marks.droppedSequence)
            if slot.marks.hasUnheard { kept.hasUnheard = true }
        }
        return kept
    }

    /// Whether commits wait here for turns that nobody of this process appended.
    fileprivate var isMissingOthers: Bool { !early.isEmpty && early.count == appendsInFlight }

    /// The session is gone: commits that waited for others are shown to nobody.
    fileprivate mutating func giveUpEarly() -> [(CommittedAppend, Shown)] {
        defer { early = [:] }
        appendsInFlight -= early.count
        return early.values.map { ($0, Shown(isGone: true)) }
    }

    /// Takes commits that waited for others, as far as it goes.
    fileprivate mutating func takeFollowers(
        now: Duration, limits: SessionLimits
    ) -> [(CommittedAppend, Shown)] {
        var taken: [(CommittedAppend, Shown)] = []
        while let next = early.keys.min(), next <= sequence + 1, let committed = early.removeValue(forKey: next) {
            appendsInFlight -= 1
            taken.append((committed, take(committed, sequence: next, now: now, limits: limits)))
        }
        return taken
    }

    /// Takes committed turns. Those up to `self.sequence` came here already, by reading the journal: their labels are in
    /// the outbox.
    fileprivate mutating func take(
        _ committed: CommittedAppend, sequence first: UInt64, now: Duration, limits: SessionLimits
    ) -> Shown {
        let (feature, batch) = (committed.feature, committed.batch)
        var shown = Shown()
        let isNew = first > sequence
        if isNew { sequence = first + UInt64(batch.turns.count) - 1 }
        guard var slot = stores[feature], slot.number == committed.number else {
            // Its labels were published all the same.
            if isNew { publish(committed, from: first, now: now) }
            shown.isGone = true
            return shown
        }
        slot.token = committed.append.token
        if slot.setsAside != nil {
            slot.setsAside = nil
            slot.replacedSequence = first
        }
        slot.unwrittenState = nil
        var stateChanged = false
        var hasLabels = false
        for turn in batch.turns {
            if let view = turn.view {
                slot.version += 1
                slot.view = view
                slot.intentID = turn.shownIntent
                slot.stateEvent = nil
                stateChanged = true
            }
            if !turn.labels.isEmpty { hasLabels = true }
            if let reply = turn.reply {
                if let receipt = reply.receipt { receipts.complete(receipt, .ran(version: slot.version)) }
                reply.committed(PendingReply.Commit(version: slot.version, view: slot.view))
            }
        }
        if hasLabels, isNew { publish(committed, from: first, now: now) }
        if stateChanged {
            shown.waiters = slot.waiters
            slot.waiters = []
        }
        slot.marks.hasLabels = slot.marks.hasLabels || hasLabels
        stores[feature] = slot
        if hasLabels { shown.undelivered = trimOutbox(now: now, limits: limits) }
        if stateChanged || hasLabels {
            for index in streams.indices where streams[index].shows(feature) {
                if stateChanged { streams[index].markDirty(feature) }
                if let waker = streams[index].waker { shown.wakers.append(waker) }
            }
        }
        return shown
    }
}

extension SessionCore {
    /// Puts a commit's labels into the outbox.
    private mutating func publish(_ committed: CommittedAppend, from first: UInt64, now: Duration) {
        for (place, turn) in committed.batch.turns.enumerated() {
            let kept = committed.append.turns[place].labels
            for (index, label) in turn.labels.enumerated() {
                outbox.append(
                    Outbox.Entry(
                        feature: committed.feature, sequence: first + UInt64(place), index: index,
                        version: kept[index].version, intentID: turn.shownIntent, json: label.json,
                        expiry: now + label.timeToLive))
            }
        }
    }

    /// Takes what the journal has beyond what is shown here; returns whom it concerns.
    mutating func merge(
        _ stored: StoredSession, clocks: (monotonic: Duration, sinceEpoch: Duration)
    ) -> [any StreamWaker] {
        func monotonic(_ sinceEpoch: Duration) -> Duration { clocks.monotonic - (clocks.sinceEpoch - sinceEpoch) }
        for receipt in stored.receipts where receipts[receipt.key]?.outcome == nil {
            receipts.adopt(receipt, monotonic: monotonic)
        }
        guard stored.sequence > sequence else { return [] }
        var features: Set<FeatureID> = []
        for label in stored.labels where label.id.sequence > sequence {
            outbox.append(Outbox.Entry(label, expiry: monotonic(label.label.expiry)))
            features.insert(label.feature)
        }
        sequence = stored.sequence
        for summary in stored.stores where stores[summary.feature]?.handle == nil {
            var slot = StoreSlot(summary, now: clocks.monotonic)
            slot.waiters = stores[summary.feature]?.waiters ?? []
            stores[summary.feature] = slot
        }
        return streams.filter { stream in features.contains { stream.shows($0) } }.compactMap { $0.waker }
    }

    /// A store's view state is to be shown by the streams that show it; returns whom to wake.
    mutating func markDirty(_ feature: FeatureID) -> [any StreamWaker] {
        var wakers: [any StreamWaker] = []
        for index in streams.indices where streams[index].shows(feature) {
            streams[index].markDirty(feature)
            if let waker = streams[index].waker { wakers.append(waker) }
        }
        return wakers
    }

    /// Drops what exceeds the outbox's bounds and tells the streams that were owed it; returns how many labels no
    /// stream ever got.
    mutating func trimOutbox(now: Duration, limits: SessionLimits) -> Int {
        var undelivered = 0
        for (number, entry) in outbox.trim(now: now, maxCount: limits.outboxLabels, maxBytes: limits.outboxBytes) {
            if !entry.isWritten { undelivered += 1 }
            marksChanged = true
            if stores[entry.feature] != nil {
                stores[entry.feature]?.marks.droppedSequence = entry.sequence
            } else {
                marks.droppedSequence = max(marks.droppedSequence, entry.sequence)
            }
            var isShown = false
            for index in streams.indices where streams[index].shows(entry.feature) {
                streams[index].dropped(number)
                isShown = true
            }
            // With nobody there it was owed to whoever comes first.
            guard !isShown, !entry.isWritten else { continue }
            if stores[entry.feature] != nil {
                stores[entry.feature]?.marks.hasUnheard = true
            } else {
                marks.hasUnheard = true
            }
        }
        return undelivered
    }
}
