import MVI
import SessionJournal

extension SessionCore {
    /// Whom a commit concerns.
    struct Shown {
        var wakers: ShortList<any StreamWaker> = []
        var waiters: [StateWaiter] = []
        var undelivered = 0
        /// The store's version after it; nil if the store was gone already.
        var version: UInt64?

        /// What the store is told.
        var commit: SessionCommit { version.map { .committed(version: $0) } ?? .failed(.storeIsGone) }
    }

    enum Prepared {
        case gone
        case nothing(version: UInt64)
        /// With the store's version before it, and its token from then on.
        case append(JournalAppend, version: UInt64, token: StoreToken)
    }

    /// Makes an append of a batch.
    mutating func prepare(
        _ batch: EncodedBatch, feature: FeatureID, number: UInt64, session: Session, now: Duration
    ) -> Prepared {
        guard let index = stores.index(of: feature), stores[index].number == number else { return .gone }
        let before = stores[index].version
        if batch.isEmpty, stores[index].unwrittenState == nil {
            // Nothing that anybody could tell: there is nothing to make permanent.
            for turn in batch.turns { turn.reply?.committed(view: stores[index].view) }
            return .nothing(version: before)
        }
        var version = before
        var view: [UInt8]?
        var viewIntent: String?
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
                stores[index].marks.hasLabels = true
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
        if view == nil, stores[index].unwrittenState != nil {
            view = stores[index].view
            viewIntent = stores[index].intentID?.text
        }
        let store = StoreAppend(
            feature: feature, expecting: stores[index].token, token: token, schemaVersion: batch.schemaVersion,
            state: batch.state ?? stores[index].unwrittenState, view: view, viewIntent: viewIntent,
            marks: stores[index].marks, turns: turns, setsAside: stores[index].setsAside)
        appendsInFlight += 1
        let append = housekeeping(session, consume store, found, now: now)
        return .append(consume append, version: before, token: token)
    }

    /// An append, with everything that the journal is to know beside.
    mutating func housekeeping(
        _ session: Session, _ store: consuming StoreAppend?, _ found: [StoredReceipt], now: Duration
    ) -> JournalAppend {
        let forgotten = receipts.takeForgotten()
        var firstLabel: LabelID?
        if outbox.firstNumber > 0 {
            let first = outbox.firstID(after: sequence)
            if first > keptFirstLabel {
                firstLabel = first
                keptFirstLabel = first
            }
        }
        var newMarks: SessionMarks?
        if marksChanged {
            newMarks = keptMarks
            marksChanged = false
        }
        return JournalAppend(
            session: session.key, time: now, store: consume store, receipts: found,
            forgottenReceipts: forgotten.receipts,
            forgottenEpochs: forgotten.epochs, firstLabel: firstLabel, marks: newMarks)
    }

    /// The session's marks as they are kept: where a label of a store was dropped, the session remembers it until the
    /// store does.
    var keptMarks: SessionMarks {
        var kept = marks
        for slot in stores {
            kept.droppedSequence = max(kept.droppedSequence, slot.marks.droppedSequence)
            if slot.marks.hasUnheard { kept.hasUnheard = true }
        }
        return kept
    }

    /// Whether commits wait here for turns that nobody of this process appended.
    var isMissingOthers: Bool { !early.isEmpty && early.count == appendsInFlight }

    /// The session is gone: commits that waited for others are shown to nobody.
    mutating func giveUpEarly() -> [(CommittedAppend, Shown)] {
        defer { early = [:] }
        appendsInFlight -= early.count
        return early.values.map { ($0, Shown()) }
    }

    /// Takes commits that waited for others, as far as it goes.
    mutating func takeFollowers(
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
    mutating func take(
        _ committed: CommittedAppend, sequence first: UInt64, now: Duration, limits: SessionLimits
    ) -> Shown {
        let (feature, batch) = (committed.feature, committed.batch)
        var shown = Shown()
        let isNew = first > sequence
        if isNew { sequence = first + UInt64(batch.turns.count) - 1 }
        guard let index = stores.index(of: feature), stores[index].number == committed.number else {
            // Its labels were published all the same.
            if isNew { publish(committed, from: first, now: now) }
            return shown
        }
        stores[index].token = committed.token
        if stores[index].setsAside != nil {
            stores[index].setsAside = nil
            stores[index].replacedSequence = first
        }
        stores[index].unwrittenState = nil
        var stateChanged = false
        var hasLabels = false
        for turn in batch.turns {
            if let view = turn.view {
                stores[index].version += 1
                stores[index].view = view
                stores[index].intentID = turn.shownIntent
                stateChanged = true
            }
            if !turn.labels.isEmpty { hasLabels = true }
            if let reply = turn.reply {
                if let receipt = reply.receipt { receipts.complete(receipt, .ran(version: stores[index].version)) }
                reply.committed(view: stores[index].view)
            }
        }
        if hasLabels, isNew { publish(committed, from: first, now: now) }
        shown.version = stores[index].version
        if stateChanged, !stores[index].waiters.isEmpty {
            shown.waiters = stores[index].waiters
            stores[index].waiters = []
        }
        if hasLabels { stores[index].marks.hasLabels = true }
        if hasLabels { shown.undelivered = trimOutbox(now: now, limits: limits) }
        if stateChanged {
            shown.wakers = markDirty(feature)
        } else if hasLabels {
            shown.wakers = wakers(showing: feature)
        }
        return shown
    }
}

extension SessionCore {
    /// Puts a commit's labels into the outbox.
    private mutating func publish(_ committed: CommittedAppend, from first: UInt64, now: Duration) {
        var version = committed.version
        for (place, turn) in committed.batch.turns.enumerated() {
            if turn.view != nil { version += 1 }
            for (index, label) in turn.labels.enumerated() {
                outbox.append(
                    Outbox.Entry(
                        feature: committed.feature, sequence: first + UInt64(place), index: index,
                        version: version, intentID: turn.shownIntent, json: label.json,
                        expiry: now + label.timeToLive))
            }
        }
    }

    /// Takes what the journal has beyond what is shown here; returns whom it concerns.
    mutating func merge(_ stored: StoredSession, now: Moment) -> ShortList<any StreamWaker> {
        for receipt in stored.receipts where receipts[receipt.key]?.outcome == nil {
            receipts.adopt(receipt, monotonic: now.monotonic)
        }
        guard stored.sequence > sequence else { return [] }
        var features: Set<FeatureID> = []
        for label in stored.labels where label.id.sequence > sequence {
            outbox.append(Outbox.Entry(label, expiry: now.monotonic(label.label.expiry)))
            features.insert(label.feature)
        }
        sequence = stored.sequence
        for summary in stored.stores where stores[summary.feature]?.handle == nil {
            var slot = StoreSlot(summary, now: now.monotonic)
            slot.waiters = stores[summary.feature]?.waiters ?? []
            stores[summary.feature] = slot
        }
        return wakers { stream in features.contains { stream.shows($0) } }
    }

    /// A store's view state is to be shown by the streams that show it; returns whom to wake.
    mutating func markDirty(_ feature: FeatureID) -> ShortList<any StreamWaker> {
        lastStep = nil
        for index in streams.indices where streams[index].shows(feature) { streams[index].markDirty(feature) }
        return wakers(showing: feature)
    }

    /// Whom to wake of the streams that show the feature.
    func wakers(showing feature: FeatureID) -> ShortList<any StreamWaker> { wakers { $0.shows(feature) } }

    private func wakers(where isConcerned: (borrowing StreamState) -> Bool) -> ShortList<any StreamWaker> {
        var wakers: ShortList<any StreamWaker> = []
        for index in streams.indices where isConcerned(streams[index]) {
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
