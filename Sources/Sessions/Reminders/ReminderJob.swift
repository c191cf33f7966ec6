import Locking
import MVI
import SessionJournal

/// Fires a reminder. Its action's turn deletes it in the same commit.
final class ReminderJob: QueueJob {
    private let session: Session
    private let reminder: StoredReminder
    private let event: TimedEvent
    /// The reminder itself if that is a message which was not delivered.
    private let undelivered: UndeliveredMessage?
    private let inputs: TurnInputs?
    /// Called once.
    private let done: @Sendable () -> Void

    init(
        _ session: Session, _ reminder: StoredReminder, undelivered: UndeliveredMessage? = nil,
        inputs: TurnInputs? = nil, done: @escaping @Sendable () -> Void
    ) {
        (self.session, self.reminder, self.inputs, self.done) = (session, reminder, inputs, done)
        self.undelivered = undelivered
        event = TimedEvent(reminder)
    }

    // Not the lane for steps, which retries failed commits: the next look at the reminders does that.
    var lane: JobLane { .server }

    func run() -> WaitingJob? {
        let (limits, lives) = (session.shared.limits, session.lives)
        let (isThere, found) = session.core.withLock { core in
            (core.currentReminders.contains(reminder), core.find(reminder.feature, limits: limits, lives))
        }
        // Another turn deleted or replaced it meanwhile, or another node may run it.
        guard isThere, session.mayRun else { return endWithoutTurn() }
        if case .recordingEnd = event { return deleteReminder() }
        switch found {
        case .passive(nil): return WaitingJob(self, in: session, for: [reminder.feature])
        case .passive(let error?) where event.ends(with: error): return deleteReminder()
        case .passive(let error?): session.pause(reminder, isLasting: error.isLasting)
        case .absent: return deleteReminder()
        case .store(let store, _, _):
            do {
                guard let call = try call(on: store) else { return deleteReminder() }
                return session.run(call)
            } catch {
                if session.pause(reminder, isLasting: true) {
                    let failure = Failure(stage: .execute, intentID: .reminder(reminder.id), error: error)
                    session.shared.report(.failure(failure, in: session.place(of: reminder.feature)))
                }
            }
        }
        return endWithoutTurn()
    }

    /// Ends with a commit that deletes the reminder.
    private func deleteReminder() -> WaitingJob? {
        session.core.withLock { core in
            core.batch.count += 1
            core.batch.reminders.append(.forgotten(reminder.feature, id: reminder.id))
            core.joinOther(self, isKept: true)
        }
        return nil
    }

    /// Returns nil if its feature does nothing.
    private func call(on store: SessionStore) throws -> TurnCall? {
        if let undelivered {
            guard let action = store.definition.undelivered(undelivered) else { return nil }
            return TurnCall(
                job: self, store: store, context: TurnContext(.reminder(reminder.id), store, inputs: inputs),
                run: action.turn, kind: .reminder(reminder))
        }
        guard event == .signIn else {
            return TurnCall(
                job: self, store: store,
                context: TurnContext(.reminder(reminder.id), store, inputs: inputs, by: reminder.number),
                run: try store.definition.action(reminder.action), kind: .reminder(reminder))
        }
        let (run, principal) = try SignIn(reminder).turn
        return TurnCall(
            job: self, store: store, context: TurnContext(.signIn, store, principal: principal, inputs: inputs),
            run: run, kind: .reminder(reminder))
    }

    private func endWithoutTurn() -> WaitingJob? {
        session.drop(self)
        return nil
    }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        ReminderJob(session, reminder, undelivered: undelivered, inputs: inputs ?? self.inputs, done: done)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        // One that cannot fire, or is only deleted, does not count as use of its session.
        if result.isKept, result.store != nil { session.touch() }
        session.fired(reminder, result.outcome)
        done()
    }

    func end(_ error: StoreError) {
        // The reminder still exists and is looked at again soon.
        session.fired(reminder, nil)
        session.shared.reminderClock.note(due: session.shared.time.sinceEpoch() + .seconds(2))
        done()
    }
}

extension IntentID {
    /// The intent id of a reminder's turn and its work. Not ASCII, so that it differs from every key of a client.
    static func reminder(_ id: String) -> IntentID { IntentID("‹reminder \(id)›") }
}

extension Session {
    /// Fires the due reminders. Calls `done` when their turns are over.
    package func fireReminders(done: @escaping @Sendable () -> Void) {
        let now = Moment(shared.time)
        let due = core.withLock { $0.takeDueReminders(now: now) { !$0.isMessage } }
        let oneIsDone = countdown(from: 2, then: done)
        fire(due, done: oneIsDone)
        tellMessages(done: oneIsDone)
    }

    /// Notes the reminders that a commit has set, and tells its messages.
    func note(_ changes: [ReminderChange]) {
        for case .set(let reminder) in changes { shared.reminderClock.note(due: reminder.next) }
        if changes.contains(where: \.tells) { tellMessages() }
    }

    /// Fires reminders that are marked as under way. Calls `done` when their turns are over.
    func fire(_ due: [StoredReminder], done: @escaping @Sendable () -> Void) {
        guard !due.isEmpty else { return done() }
        // Retries failed loads, since perhaps no client asks for that store.
        startLoads(due.map(\.feature))
        let oneIsDone = countdown(from: due.count, then: done)
        for reminder in due { enqueue(ReminderJob(self, reminder, done: oneIsDone)) }
    }

    /// True if it knows a reminder that is due.
    func knowsDueReminder(now: Duration) -> Bool { core.withLock { $0.reminders.contains { $0.stored.due <= now } } }

    /// Handles the end of a reminder's turn.
    ///
    /// - Parameter outcome: nil if nothing is committed.
    func fired(_ reminder: StoredReminder, _ outcome: TurnOutcome?) {
        let now = shared.time.sinceEpoch()
        let next = core.withLock { core -> Duration? in
            var next: Duration?
            core.changeTries(of: reminder) { reminder in
                reminder.isUnderWay = false
                guard case .failed = outcome else { return }
                reminder.noteFailure(now: now)
                next = reminder.next
            }
            return next
        }
        if case .unavailable(let error) = outcome { pause(reminder, isLasting: error.isLasting) }
        guard let next else { return }
        guard shared.lease != nil else { return shared.reminderClock.note(due: next) }
        // This node has claimed it for a while and does not get it again.
        shared.after(max(.zero, next - shared.time.sinceEpoch())) { [self] in fireReminders {} }
    }

    /// Pauses before the next attempt at a reminder that could not fire. The journal keeps the pause, so that a restart or
    /// another node does not try it earlier. Returns true if it is the first one.
    @discardableResult
    func pause(_ reminder: StoredReminder, isLasting: Bool) -> Bool {
        let now = Moment(shared.time)
        let (touch, isFirst) = core.withLock { core -> (SessionTouch?, Bool) in
            var (paused, isFirst) = (StoredReminder?.none, false)
            core.changeTries(of: reminder) { reminder in
                isFirst = reminder.notBefore == .zero
                paused = reminder.pause(now: now.sinceEpoch, isLasting: isLasting)
            }
            guard let paused, let key = core.key else { return (nil, isFirst) }
            let lastSeen = now.sinceEpoch(core.keptTouch)
            return (SessionTouch(session: key, lastSeen: lastSeen, written: [], reminders: [paused]), isFirst)
        }
        // Its loss costs one more attempt.
        if let touch {
            shared.journal.touch([touch]) { _ in }
            for paused in touch.reminders { shared.reminderClock.note(due: paused.next) }
        }
        return isFirst
    }
}
