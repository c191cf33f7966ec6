import Locking
import MVI
import SessionJournal

extension SessionTable {
    /// The number of reminders that one read of the journal returns, and of sessions that fire reminders at once. Late
    /// reminders after a restart leave room for intents.
    private static var pageSize: Int { 512 }
    private static var concurrency: Int { 64 }

    /// Fires reminders when they are due, also those of sessions that are not in memory, until the task is canceled.
    package func runReminders() async {
        while !Task.isCancelled {
            environment.reminderClock.beginLook()
            let next = await fireDueReminders()
            await environment.reminderClock.wait(until: next, environment)
        }
    }

    /// Fires the due reminders. Returns the time of the next one, as far as the journal knows.
    package func fireDueReminders() async -> Duration? {
        if let journal = environment.sharedJournal { return await fireClaimedReminders(journal) }
        var last: Alarm?
        while !Task.isCancelled {
            let found = await awaitResult { [last] in
                environment.journal.alarms(after: last, limit: Self.pageSize, done: $0)
            }
            let now = environment.time.sinceEpoch()
            guard case .success(let page) = found else { return now + .seconds(2) }
            let due = page.prefix { $0.due <= now }
            await fire(due.map(\.token))
            if due.count < page.count { return page[due.count].due }
            if page.count < Self.pageSize { return nil }
            last = page.last
        }
        return nil
    }

    /// The same with several nodes: each node claims some reminders for a while.
    private func fireClaimedReminders(_ journal: any SharedJournal) async -> Duration? {
        while !Task.isCancelled {
            let now = environment.time.sinceEpoch()
            guard let node = environment.lease?.holder else { return now + .seconds(2) }
            let claimed = await awaitResult {
                journal.claimAlarms(dueAt: now, by: node, for: Self.claimLife, limit: Self.concurrency, done: $0)
            }
            guard case .success(let (due, next)) = claimed else { return now + .seconds(2) }
            await fire(due.map(\.token))
            // Reminders that other nodes have claimed are not polled all the time.
            if due.count < Self.concurrency { return next.map { max($0, now + .seconds(1)) } }
        }
        return nil
    }

    /// The time for which a node claims a reminder. After it, another node fires it.
    private static var claimLife: Duration { .seconds(30) }

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

    /// The time for which a look waits for one session. A slow session delays no other; its reminders fire later.
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
            // Another node set the reminder, or a sign-in with an unknown outcome did; or this node missed that another
            // one released the session: the journal gives a reminder only to a node that may fire it.
            session.catchUp { session.fireReminders(done: done) }
        }
    }
}

/// Tracks the time at which the next reminder of any session is due.
final class ReminderClock: Sendable {
    private struct State {
        /// The earliest due time since the last look: since 1970.
        var noted: Duration?
        /// The time until which the wait lasts.
        var deadline: Duration = .zero
        var wait: Wait?
        /// Sessions whose reminders are being fired.
        var sessions: Set<TokenHash> = []
    }

    private let state = Lock(State())
    /// The maximum wait, after which clock jumps and reminders of other nodes are noticed.
    private static let longestWait: Duration = .seconds(30)

    /// Notes the due time of a reminder: since 1970.
    func note(due: Duration) {
        let wait = state.withLock { state -> Wait? in
            state.noted = min(state.noted ?? due, due)
            return due < state.deadline ? state.wait : nil
        }
        wait?.end(true)
    }

    /// Marks a session's reminders as firing. Returns false if they already are.
    func begin(_ session: TokenHash) -> Bool { state.withLock { $0.sessions.insert(session).inserted } }

    /// True if the reminders of any session are being fired.
    var isFiring: Bool { state.withLock { !$0.sessions.isEmpty } }

    func end(_ session: TokenHash) { state.withLock { _ = $0.sessions.remove(session) } }

    /// Clears the noted due time.
    func beginLook() { state.withLock { $0.noted = nil } }

    /// Waits until `next`, until an earlier reminder noted since `beginLook` is due, or for half a minute.
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
