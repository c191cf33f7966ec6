import Locking
import MVI
import SessionJournal

extension SessionTable {
    /// How many reminders one look at the journal reads, and how many sessions fire theirs at once: those that are late
    /// after a restart leave room for the intents beside them.
    private static var pageSize: Int { 512 }
    private static var concurrency: Int { 64 }

    /// Fires reminders when they are due, also those of sessions that are not in memory, until the task is cancelled.
    package func runReminders() async {
        while !Task.isCancelled {
            environment.reminderClock.beginLook()
            let next = await fireDueReminders()
            await environment.reminderClock.wait(until: next, environment)
        }
    }

    /// Fires what is due now; returns when the next one is, as far as the journal knows.
    package func fireDueReminders() async -> Duration? {
        if let journal = environment.sharedJournal { return await fireClaimedReminders(journal) }
        var last: Alarm?
        while !Task.isCancelled {
            let page: [Alarm]
            switch await alarms(after: last) {
            case .success(let found): page = found
            case .failure: return environment.time.sinceEpoch() + .seconds(2)
            }
            let now = environment.time.sinceEpoch()
            let due = page.prefix { $0.due <= now }
            await fire(due.map(\.token))
            if due.count < page.count { return page[due.count].due }
            if page.count < Self.pageSize { return nil }
            last = page.last
        }
        return nil
    }

    /// The same where several nodes fire reminders: each takes some for a while.
    private func fireClaimedReminders(_ journal: any SharedJournal) async -> Duration? {
        while !Task.isCancelled {
            let now = environment.time.sinceEpoch()
            guard let node = environment.lease?.holder else { return now + .seconds(2) }
            let claimed = await awaitResult {
                journal.claimAlarms(dueAt: now, by: node, for: Self.claimLife, limit: Self.concurrency, done: $0)
            }
            guard case .success(let (due, next)) = claimed else { return now + .seconds(2) }
            await fire(due.map(\.token))
            // Those that other nodes have are not asked for all the time.
            if due.count < Self.concurrency { return next.map { max($0, now + .seconds(1)) } }
        }
        return nil
    }

    /// How long a node has a reminder for itself: after its end another one fires it.
    private static var claimLife: Duration { .seconds(30) }

    private func alarms(after last: Alarm?) async -> Result<[Alarm], StoreError> {
        await awaitResult { environment.journal.alarms(after: last, limit: Self.pageSize, done: $0) }
    }

    private func fire(_ tokens: [TokenHash]) async {
        var waiting = Set(tokens)
        await withTaskGroup(of: Void.self) { group in
            for count in 0..<waiting.count {
                if count >= Self.concurrency { await group.next() }
                guard let token = waiting.popFirst() else { return }
                group.addTask { [self] in await fire(token) }
            }
        }
    }

    /// How long a look waits for one session. One that does not get on holds up no other: its reminders fire when it does.
    private static var patience: Duration { .seconds(5) }

    private func fire(_ token: TokenHash) async {
        guard environment.reminderClock.begin(token) else { return }
        await withCheckedContinuation { continuation in
            let wait = Wait(number: 0) { _ in continuation.resume() }
            fire(token) { [clock = environment.reminderClock] in
                clock.end(token)
                wait.end(true)
            }
            if !wait.isOver { environment.limit(wait, to: Self.patience) }
        }
    }

    private func fire(_ token: TokenHash, _ done: @escaping @Sendable () -> Void) {
        find(token, for: .look) { [self] found in
            guard let session = found.session else { return done() }
            if session.mayRun, session.knowsDueReminder(now: environment.time.sinceEpoch()) {
                return session.fireReminders(done: done)
            }
            // Another node set it, or a sign-in whose outcome is not known here; or another one ran the session's turns, and
            // that it does no more was not heard here: the journal gives no reminder to a node that may not fire it.
            session.catchUp { session.fireReminders(done: done) }
        }
    }
}

/// Knows when the next reminder of any session has to be looked after.
final class ReminderClock: Sendable {
    private struct State {
        /// The earliest that was noted since the last look: since 1970.
        var noted: Duration?
        /// Until when the wait lasts.
        var deadline: Duration = .zero
        var wait: Wait?
        /// Sessions whose reminders are being fired.
        var sessions: Set<TokenHash> = []
    }

    private let state = Lock(State())
    /// A jump of the wall clock, and reminders that others set, are noticed after so long.
    private static let longestWait: Duration = .seconds(30)

    /// A reminder is due at that time: since 1970.
    func note(due: Duration) {
        let wait = state.withLock { state -> Wait? in
            state.noted = min(state.noted ?? due, due)
            return due < state.deadline ? state.wait : nil
        }
        wait?.end(true)
    }

    /// Notes that a session's reminders are being fired; false if they are already.
    func begin(_ session: TokenHash) -> Bool { state.withLock { $0.sessions.insert(session).inserted } }

    /// Whether the reminders of any session are being fired.
    var isFiring: Bool { state.withLock { !$0.sessions.isEmpty } }

    func end(_ session: TokenHash) { state.withLock { _ = $0.sessions.remove(session) } }

    /// What was noted so far is looked after now.
    func beginLook() { state.withLock { $0.noted = nil } }

    /// Waits until `next`, until an earlier reminder is due that was noted since `beginLook`, or for half a minute.
    func wait(until next: Duration?, _ environment: SessionEnvironment) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = environment.time.sinceEpoch()
                let wait = Wait(number: 0) { _ in continuation.resume() }
                let time = state.withLock { state -> Duration in
                    let latest = now + Self.longestWait
                    state.deadline = min(latest, next ?? latest, state.noted ?? latest)
                    state.wait = wait
                    return state.deadline - now
                }
                guard time > .zero, !Task.isCancelled else { return wait.end(true) }
                environment.limit(wait, to: time)
            }
        } onCancel: {
            state.withLock { $0.wait }?.end(true)
        }
        state.withLock { ($0.wait, $0.deadline) = (nil, .zero) }
    }
}
