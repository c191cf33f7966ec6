import Locking
import MVI
import SessionJournal

/// What follows when another writer was first, or when nobody knows how an append ended.
extension Session {
    /// Another writer was first: takes over what it left, and hands the new head to the store.
    func reload(_ committed: CommittedAppend) {
        let done = committed.done
        loadHead(of: committed) { [self] head in
            guard let head else {
                if committed.expecting == nil {
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
    func settle(_ committed: CommittedAppend, _ failure: JournalFailure) {
        let done = committed.done
        loadHead(of: committed) { [self] head in
            guard head?.summary.token == committed.token else {
                landed()
                guard
                    head == nil && committed.expecting == nil
                        || head?.summary.token == committed.expecting
                else { return reload(committed) }
                return done(.failed(CommitFailure(.unavailable, failure.detail)))
            }
            // It was. Its sequence numbers and labels come with whatever else is new.
            readNews { [self] stored in
                guard let stored else {
                    landed()
                    return done(.failed(.storeIsGone))
                }
                let now = Moment(environment.time)
                let (shown, followers) = core.withLock { core in
                    core.appendsInFlight -= 1
                    let news = core.merge(stored, now: now)
                    var shown = core.take(
                        committed, sequence: core.sequence, now: now.monotonic, limits: environment.limits)
                    for waker in news { shown.wakers.append(waker) }
                    return (shown, core.takeFollowers(now: now.monotonic, limits: environment.limits))
                }
                show(shown, committed.feature)
                show(followers)
                done(shown.commit)
            }
        }
    }

    /// Reads what other writers appended and shows it.
    func catchUp() {
        let isFirst = core.withLock { core in
            defer { core.isCatchingUp = true }
            return !core.isCatchingUp
        }
        guard isFirst else { return }
        readNews { [self] stored in
            let now = Moment(environment.time)
            let (wakers, followers, isBehind) = core.withLock { core in
                core.isCatchingUp = false
                guard let stored else { return (ShortList<any StreamWaker>(), core.giveUpEarly(), false) }
                let wakers = core.merge(stored, now: now)
                // More may have come since the journal was read.
                return (
                    wakers, core.takeFollowers(now: now.monotonic, limits: environment.limits), core.isMissingOthers
                )
            }
            for waker in wakers { waker.wake() }
            show(followers)
            if isBehind { catchUp() }
        }
    }

    /// Takes another writer's head for a store's own.
    private func adopt(_ head: StoredStore, _ committed: CommittedAppend) {
        let (wakers, waiters) = core.withLock { core -> (ShortList<any StreamWaker>, [StateWaiter]) in
            guard var slot = core.stores[committed.feature], slot.number == committed.number else { return ([], []) }
            slot.token = head.summary.token
            slot.version = max(slot.version, head.summary.token.version)
            slot.view = head.view
            slot.intentID = head.viewIntent.map { IntentID($0) }
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
