import Locking
import MVI
import SessionJournal

/// Fires a reminder: its action's turn forgets it in the same commit.
final class ReminderJob: QueueJob {
    private let session: Session
    private let reminder: StoredReminder
    private let inputs: TurnInputs?
    /// Called once.
    private let done: @Sendable () -> Void

    init(
        _ session: Session, _ reminder: StoredReminder, inputs: TurnInputs? = nil, done: @escaping @Sendable () -> Void
    ) {
        (self.session, self.reminder, self.inputs, self.done) = (session, reminder, inputs, done)
    }

    // Not of the steps' lane, which tries again what cannot be committed: the next look at the reminders does.
    var lane: JobLane { .server }

    func run() -> (any QueueJob)? {
        let limits = session.shared.limits
        let (isThere, found) = session.core.withLock { core in
            (core.currentReminders.contains(reminder), core.find(reminder.feature, limits: limits))
        }
        // Another turn forgot or replaced it meanwhile.
        guard isThere, session.mayRun else { return nothing() }
        switch found {
        case .passive(nil): return self
        // It is kept where its state cannot be had now.
        case .passive(_?): return nothing()
        case .absent:
            session.core.withLock { core in
                core.batch.count += 1
                core.note(.forgotten(reminder.feature, id: reminder.id))
                core.joinOther(self, isKept: true)
            }
            return nil
        case .store(let store, _, _):
            do {
                return session.run(
                    TurnCall(
                        job: self, store: store, intentID: .reminder(reminder.id), principal: nil,
                        progress: TurnProgress(inputs: inputs, judged: nil),
                        run: try store.erased.action(reminder.action), kind: .reminder(reminder)))
            } catch {
                // It is kept for a build that can read it.
                session.shared.report(.failure(unreadable(error), in: session.place(of: reminder.feature)))
                session.core.withLock { $0.suspend(reminder) }
                return nothing()
            }
        }
    }

    private func unreadable(_ error: any Error) -> Failure {
        Failure(stage: .execute, intentID: .reminder(reminder.id), error: error)
    }

    /// Leads to nothing.
    private func nothing() -> (any QueueJob)? {
        session.drop(self)
        return nil
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([reminder.feature], resume) }

    func again(with progress: TurnProgress) -> any QueueJob {
        ReminderJob(session, reminder, inputs: progress.inputs ?? inputs, done: done)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        let hasFailed = if case .failed = result.outcome { true } else { false }
        session.fired(reminder, hasFailed: hasFailed)
        done()
    }

    func end(_ error: StoreError) {
        // Looked at again soon: it is still there.
        session.fired(reminder, hasFailed: false)
        session.shared.reminderClock.note(due: session.shared.time.sinceEpoch() + .seconds(2))
        done()
    }
}

extension IntentID {
    /// What a reminder's turn and its work go by. Not ASCII, so that no key that a client sends can be it.
    static func reminder(_ id: String) -> IntentID { IntentID("‹reminder \(id)›") }
}

extension Session {
    /// Fires the reminders that are due; calls `done` when their turns are over.
    package func fireReminders(done: @escaping @Sendable () -> Void) {
        let now = shared.time.sinceEpoch()
        let due = core.withLock { $0.takeDueReminders(now: now) }
        guard !due.isEmpty else { return done() }
        let left = Lock(due.count)
        for reminder in due {
            enqueue(
                ReminderJob(self, reminder) {
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { done() }
                })
        }
    }

    /// A reminder's turn is over.
    func fired(_ reminder: StoredReminder, hasFailed: Bool) {
        let now = shared.time.sinceEpoch()
        let name = ReminderName(reminder)
        let next = core.withLock { core -> Duration? in
            core.firing.removeAll { $0 == name }
            guard hasFailed, core.reminders.contains(reminder) else {
                // One that cannot be read keeps its mark.
                if core.retries?[name].map({ $0.tries <= ReminderRetry.limit }) == true { core.retries?[name] = nil }
                return nil
            }
            var retries = core.retries ?? [:]
            retries[name, default: ReminderRetry()].noteFailure(now: now)
            core.retries = retries
            return retries[name]?.notBefore
        }
        guard let next else { return }
        guard shared.lease != nil else { return shared.reminderClock.note(due: next) }
        // This node has it for itself for a while, and is not given it again.
        Task(executorPreference: shared.executor) { [self, clock = shared.clock] in
            // Nothing cancels it.
            try? await clock.sleep(for: max(.zero, next - shared.time.sinceEpoch()))
            fireReminders {}
        }
    }
}

extension SessionCore {
    /// A reminder that this build cannot read is not fired again by it.
    fileprivate mutating func suspend(_ reminder: StoredReminder) {
        var retries = retries ?? [:]
        retries[ReminderName(reminder)] = ReminderRetry(tries: .max, notBefore: .seconds(Int64.max / 4))
        self.retries = retries
    }
}
