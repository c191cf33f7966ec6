import EventStream
import Locking
import MVI
import SessionJournal

/// The only way to catch up: after a conflict, after an append with an unknown outcome, and after a report that another
/// writer appended. The log is read from the local head, and newer turns are applied as if they had been committed
/// here. Nothing of the session runs meanwhile.
extension Session {
    /// Reads and shows the appends of other writers, in its turn in the queue. Several calls before that are one.
    ///
    /// - Parameter done: called when that is done, or the session has ended.
    package func catchUp(_ done: (@Sendable () -> Void)? = nil) {
        let isFirst = core.withLock { core in
            defer { core.isAwaitingCatchUp = true }
            if let done { core.makeRare().catchUpWaiters.append(done) }
            return !core.isAwaitingCatchUp
        }
        if isFirst { enqueue(CatchUpJob(self)) }
    }

    func caughtUp() async { await awaitResult { done in catchUp { done(()) } } }

    /// Determines the outcome of an append and ends its batch. `error` is the reason why the outcome is unknown; nil if
    /// the append certainly failed.
    func resolve(_ pending: PendingCommit, _ error: StoreError?) {
        load(for: pending.results) { [self] news in resolve(pending, error, news) }
    }

    private func resolve(_ pending: PendingCommit, _ error: StoreError?, _ news: SessionNews) {
        switch news {
        case .found(let news): resolve(pending, error, news)
        case .gone: gone { [self] error in ended(pending.end(.failed(error), .rolledBack)) }
        case .unusable(let reason):
            let end = pending.end(error == nil ? .failed(reason) : .unknown(reason), .rolledBack)
            leave(reason)
            ended(end)
        }
    }

    private func resolve(_ pending: PendingCommit, _ error: StoreError?, _ news: StoredSession) {
        let (ours, expected) = (pending.batch.head, pending.batch.expecting)
        if news.recentHeads.contains(ours) {
            // It was committed, whether or not others appended after it.
            let end = apply(pending)
            guard news.head != ours else { return ended(pending.end(.committed, end)) }
            return readNews(for: pending.results) { [self] _ in ended(pending.end(.committed, end)) }
        }
        // It was certainly not committed, and its head is still the newest.
        if error != nil, news.head == expected, news.owner == pending.batch.expectedOwner {
            let doubts = pending.noteDoubt()
            // Pauses if the journal answers loads but loses each append.
            guard doubts == 0 else {
                return tryAgain(after: doubts) { [self] in if let end = append(pending) { ended(end) } }
            }
            if let end = append(pending) { ended(end) }
            return
        }
        let isKnown = news.recentHeads.contains(expected)
        // Our append may also be behind a head that is no longer recorded: then nothing runs again.
        let end = pending.end(error.flatMap { isKnown ? nil : .unknown($0) } ?? .conflict, .rolledBack)
        noteCollision()
        apply(news) { [self] in ended(end) }
    }

    /// Counts a conflict with another node. After several in a row, the node that is first next becomes the owner for a
    /// while, and the other forwards its requests. The loser reports it, since it may go on losing.
    private func noteCollision() {
        guard let journal = shared.sharedJournal else { return }
        let now = shared.time.monotonic()
        let contended = core.withLock { $0.ownership.collide(now: now) ? $0.key : nil }
        if let contended { journal.tellContention(of: contended) }
    }

    /// Handles another node's report that it conflicts with this one.
    func heardOfContention() {
        let now = shared.time.monotonic()
        core.withLock { $0.ownership.hold(now: now) }
    }

    /// Applies the appends of others, then calls `then`: later if the log is another one and is read anew.
    func apply(_ news: StoredSession, then: @escaping @Sendable () -> Void) {
        adopt(news.credentials, of: news.record.subject)
        adoptSettings(news)
        let now = Moment(shared.time)
        let isConfirmed = shared.lease?.confirmsReads != false
        let standing = core.withLock { core in
            let standing = core.standing(of: news.mark, news.recentHeads, since: core.mark(tokenHash))
            core.accessChanges = news.accessChanges
            // A sign-in sets some without a turn.
            core.reminders.adopt(news.reminders, now: now)
            if isConfirmed { core.confirmed = now.monotonic }
            return standing
        }
        switch standing {
        case .known, .accessChanged: return then()
        case .other: return beginAnew(news.record.epoch, then)
        case .inFlight, .newer, .renamed: break
        }
        let live = core.withLock { core in news.changed.map { core.stores[$0.summary.feature] } }
        let adoptions = zip(news.changed, live).map { Adoption($0, by: $1) }
        for adoption in adoptions { shared.note(lost: adoption.lost, of: adoption.stored.summary.feature) }
        apply(news, adoptions)
        then()
    }

    private func apply(_ news: StoredSession, _ adoptions: [Adoption]) {
        let now = Moment(shared.time)
        let before = core.withLock { $0.keptOwnership == nil ? nil : $0.ownership.owner }
        let (applied, unloaded) = core.withLock { $0.apply(news, adoptions, now: now, limits: shared.limits) }
        if before != nil, core.withLock({ !$0.ownsWork }) {
            shared.note(self, isOwned: false)
            forgetWatchers()
        }
        follow(applied)
        bringBack(unloaded)
        // No node runs the work for watchers now, or the owner was never told of this node's watchers.
        if before != nil, news.owner == nil { lookAfterWork() }
    }

    /// Loads the stores that streams show, and starts their work.
    ///
    /// - Parameter failures: the number of failed attempts.
    func bringBack(_ features: [FeatureID], after failures: Int = 0) {
        guard !features.isEmpty else { return }
        open(.features(features)) { [self] result in
            guard case .failure(let error) = result, !error.isLasting, error.code != .elsewhere,
                core.withLock({ $0.isLive })
            else { return }
            report(error, after: failures)
            tryAgain(after: failures + 1) { [self] in
                let lives = lives
                let missing = core.withLock { core in
                    features.filter { core.isMissing([$0], lives) || core.rare?.loads.failure(of: $0) != nil }
                }
                bringBack(missing, after: failures + 1)
            }
        }
    }

    /// Replaces the log, since it differs from the one shown here: a database failed over to a shorter branch. The
    /// session is read anew and its log gets a new name, so that cursors and versions of the lost branch are invalid.
    ///
    /// Nothing of the session runs until then: it would run on an empty session, and its appends would be older than
    /// what is read.
    ///
    /// - Parameter name: its name in the journal.
    private func beginAnew(_ name: String, _ then: @escaping @Sendable () -> Void) {
        follow(core.withLock { $0.lose(name) })
        load { [self] news in
            switch news {
            case .gone: return gone { _ in then() }
            case .unusable(let reason): leave(reason)
            case .found(let news):
                apply(news, news.changed.map { Adoption($0, by: nil) })
                // The new name is committed with the next turn, so there is one.
                enqueue(.steps) { core in
                    if core.epochIsUnsaved { core.batch.count += 1 }
                    return core.epochIsUnsaved
                }
            }
            then()
        }
    }
}

/// Another writer's state of a store, as far as the store is in memory here.
struct Adoption {
    let stored: StoredStore
    /// True if the store goes on here. Otherwise it has to be loaded on its next use: it is not in memory, or another
    /// store.
    private(set) var goesOn = false
    /// True if a newer version of the feature wrote the state, which is not touched.
    private(set) var isNewer = false
    /// Members that the next commit would lose.
    private(set) var lost: [String] = []

    /// Reads the state, outside the lock.
    init(_ stored: StoredStore, by slot: StoreSlot?) {
        self.stored = stored
        guard let store = slot?.store, slot?.summary.made == stored.summary.made else { return }
        do throws(StoreError) {
            lost = try store.definition.adopt(stored, store.runner)
            goesOn = true
        } catch {
            isNewer = error.code == .newerState
        }
    }
}

extension SessionCore {
    /// Applies the appends of other writers. Returns the follow-up, and the stores that streams show and that are not
    /// in memory.
    mutating func apply(
        _ news: StoredSession, _ adoptions: [Adoption], now: Moment, limits: SessionLimits
    ) -> (Applied, unloaded: [FeatureID]) {
        let first = head.number + 1
        head = news.head
        var applied = Applied()
        for store in adopt(news.owner) { applied.changes.append(.stopped(store)) }
        if isRenamed(news.record.epoch) {
            // Another writer found that the log is another one; the data here is still valid.
            epoch = news.record.epoch
            streams.rename(.unknownCursor)
            for index in stores.indices {
                stores[index].epoch = epoch
                stores[index].showHead()
                if stores[index].store != nil { streams.markDirty(stores[index].feature, since: 0) }
            }
        }
        var unloaded: [FeatureID] = []
        let there = Set(news.stores.map(\.feature))
        for feature in stores.map(\.feature) where !there.contains(feature) { remove(feature, &applied) }
        for adoption in adoptions {
            apply(adoption, since: first, now, &applied)
            let feature = adoption.stored.summary.feature
            if !adoption.goesOn, !adoption.isNewer, streams.isShown(feature) { unloaded.append(feature) }
        }
        reminders.adopt(news.reminders, now: now)
        outbox.adopt(news.lostLabels)
        // Labels since this was read are already here: after a lost branch the log is read from its beginning.
        publish(news.labels.filter { $0.id.number >= first }, now: now, limits: limits, &applied)
        for receipt in news.receipts { receipts.add(receipt, made: now.monotonic(receipt.made)) }
        if streams.haveAudiences { owe(news.receipts) }
        let last = lastPosition(now: now.monotonic)
        for adoption in adoptions where adoption.isNewer {
            streams.finish(.drain, at: last) { $0.filter.shows(adoption.stored.summary.feature) }
        }
        applied.wakers = streams.takeWakers()
        return (applied, unloaded)
    }

    private mutating func apply(_ adoption: Adoption, since first: UInt64, _ now: Moment, _ applied: inout Applied) {
        let summary = adoption.stored.summary
        let version = stores[summary.feature]?.version
        let isNewer = stores[summary.feature].map { $0.summary.number != summary.number } ?? true
        let used = summary.lastSeen > .zero ? min(now.monotonic(summary.lastSeen), now.monotonic) : now.monotonic
        if version == nil { stores.append(StoreSlot(summary, of: epoch, lastUse: used)) }
        guard let index = stores.index(of: summary.feature) else { return }
        // Even if this version of the code derives another view: a version means the same on every node.
        var view = adoption.stored.view
        if !adoption.goesOn {
            if let store = stores[index].store { applied.changes.append(.ended(store)) }
            stores[index].store = nil
            stores[index].start = .done
            stores[index].showHead()
            // Streams show it when it is loaded; its labels wait for that.
            view = []
        }
        // Its start value is as old as the state that it was loaded with.
        if stores[index].store != nil, !stores[index].isStarted { stores[index].start = .restored(view: nil) }
        stores[index].summary = summary
        stores[index].lost = adoption.lost
        if isNewer { stores[index].use(at: used) }
        guard version != summary.version else { return }
        stores[index].view = view
        stores[index].intent = adoption.stored.viewIntent
        stores[index].showHead()
        markChanged(summary.feature, at: index, since: first, now: now.monotonic, &applied)
    }

    /// Removes all data of a log that is another one in the journal. That has a new name already, or this node chooses it.
    mutating func lose(_ name: String) -> Applied {
        epochIsUnsaved = !isRenamed(name)
        epoch = epochIsUnsaved ? Epoch.random() : name
        head = .empty
        var applied = Applied()
        for slot in stores { applied.add(slot) }
        stores = []
        _ = adopt(nil)
        outbox = Outbox(from: outbox.endPlace)
        receipts.lose()
        reminders = []
        streams.reset(.unknownCursor)
        return applied
    }
}

extension SessionCore.Applied {
    /// Removes a store: its work ends, and waiting requests are told.
    mutating func add(_ slot: StoreSlot) {
        if let store = slot.store { changes.append(.ended(store)) }
        changes += slot.waiters.map { .news($0) }
    }
}

/// Reads the appends of others, as a job of its own.
private final class CatchUpJob: QueueJob {
    private let session: Session
    private let hasRead = Lock(false)

    init(_ session: Session) { self.session = session }

    var lane: JobLane { .steps }

    func run() -> WaitingJob? { hasRead.withLock { $0 } ? nil : WaitingJob(self, whenReady: read) }

    private func read(then resume: @escaping @Sendable () -> Void) -> Bool {
        let waiters = begin()
        session.loadOnce { [self] result in
            // After a failure, the next comparison finds it again.
            guard case .success(let news) = result else { return finishCatchUp(resume, waiters) }
            session.apply(news) { [self] _ in finishCatchUp(resume, waiters) }
        }
        return true
    }

    private func finishCatchUp(_ resume: @Sendable () -> Void, _ waiters: [@Sendable () -> Void]) {
        hasRead.withLock { $0 = true }
        resume()
        for waiter in waiters { waiter() }
    }

    func end(_ error: StoreError) { for waiter in begin() { waiter() } }

    private func begin() -> [@Sendable () -> Void] {
        session.core.withLock { core in
            // Later appends may not be in the result.
            core.isAwaitingCatchUp = false
            defer { core.rare?.catchUpWaiters = [] }
            return core.rare?.catchUpWaiters ?? []
        }
    }
}
