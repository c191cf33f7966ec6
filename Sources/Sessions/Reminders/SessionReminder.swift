import MVI
import SessionJournal

/// A reminder of a session, with the attempts of this process.
struct SessionReminder {
    /// Without `notBefore`: reminders are compared.
    let stored: StoredReminder
    let event: TimedEvent
    /// The time until which it keeps its session alive, on the monotonic clock.
    let keepsSessionUntil: Duration
    /// The number of times that its action threw.
    private(set) var tries = 0
    /// The earliest time for the next attempt after a throw or an attempt that could not fire it: since 1970.
    fileprivate(set) var notBefore: Duration
    /// True if its turn waits or runs.
    var isUnderWay = false
    /// The time at which it was last taken to be fired, on the monotonic clock.
    var lastLook: Duration?

    /// A reminder without attempts of this process.
    init(_ stored: StoredReminder, now: Moment) {
        var plain = stored
        plain.notBefore = .zero
        (self.stored, event, notBefore) = (plain, TimedEvent(stored), stored.notBefore)
        keepsSessionUntil = now.monotonic(stored.due) + StoredReminder.sessionLife
        if event.recording != nil { SessionStore.hasRecordings.store(true, ordering: .relaxed) }
    }

    /// The time of the next attempt: since 1970.
    var next: Duration { max(stored.due, notBefore) }

    /// Records a throw. The reminder is retried after one second, doubled each time.
    mutating func noteFailure(now: Duration) {
        notBefore = now + .seconds(1 << min(tries, 6))
        tries += 1
    }

    /// Records an attempt that could not fire it: each loads the session and the store. The pause before the next one is
    /// as long as the reminder is late, so that it grows without a count. Returns the reminder with it.
    ///
    /// - Parameter isLasting: false if the obstacle may be gone soon.
    mutating func pause(now: Duration, isLasting: Bool) -> StoredReminder {
        notBefore = now + min(max(now - stored.due, .seconds(2)), isLasting ? .seconds(6 * 3_600) : .seconds(60))
        var paused = stored
        paused.notBefore = notBefore
        return paused
    }
}

extension [SessionReminder] {
    /// Applies a batch's changes. A reminder that is set or replaced starts without attempts.
    mutating func apply(_ changes: [ReminderChange], now: Moment) {
        for change in changes {
            switch change {
            case .forgotten(let feature, let id): removeAll { $0.stored.isNamed(id, of: feature) }
            case .set(let new):
                removeAll { $0.stored.isNamed(new.id, of: new.feature) }
                append(SessionReminder(new, now: now))
            }
        }
        sort { $0.stored.due < $1.stored.due }
    }

    /// Adopts the stored reminders. Known ones keep their attempts.
    mutating func adopt(_ kept: [StoredReminder], now: Moment) {
        guard !kept.isEmpty || !isEmpty else { return }
        let known = self
        self = kept.map { stored in
            let new = SessionReminder(stored, now: now)
            guard var reminder = known.first(where: { $0.stored == new.stored }) else { return new }
            reminder.notBefore = Swift.max(reminder.notBefore, new.notBefore)
            return reminder
        }
    }
}

extension SessionCore {
    /// The reminders including those of the batch's turns.
    var currentReminders: [StoredReminder] { reminders.map(\.stored).applying(batch.reminders) }

    /// Returns the numbers of the session's reminders and messages after these changes of a feature instance, in the running
    /// chain.
    func reminderCounts(
        after changes: [EncodedReminder], of feature: FeatureID
    ) -> (reminders: Int, messages: Int) {
        let new = (rare?.chainReminders ?? []) + changes.changes(of: feature, number: 0, epoch: "")
        let present = currentReminders.filter { !Message.names($0) }.applying(new.filter { !$0.tells })
        return (
            present.count(where: \.isAction),
            currentReminders.count(where: Message.names) + new.count(where: \.tells)
        )
    }

    /// True if a reminder whose turn fails now is not retried.
    func isLastTry(of reminder: StoredReminder) -> Bool {
        let tries = reminders.first { $0.stored == reminder }?.tries ?? 0
        return tries + 1 >= TimedEvent(reminder).tryLimit
    }

    /// The time of the next reminder, since 1970; nil if there is none. Messages are none.
    var nextReminder: Duration? { reminders.lazy.filter { !$0.event.isMessage }.map(\.next).min() }

    /// Takes the due reminders and marks them as under way.
    mutating func takeDueReminders(
        now: Moment, _ isMeant: (TimedEvent) -> Bool = { _ in true }
    ) -> [StoredReminder] {
        guard isLive else { return [] }
        var due: [StoredReminder] = []
        for index in reminders.indices
        where !reminders[index].isUnderWay && reminders[index].next <= now.sinceEpoch && isMeant(reminders[index].event)
        {
            reminders[index].lastLook = now.monotonic
            reminders[index].isUnderWay = true
            due.append(reminders[index].stored)
        }
        return due
    }

    /// Changes a reminder's attempts if it still exists and was not set anew.
    mutating func changeTries(of reminder: StoredReminder, _ change: (inout SessionReminder) -> Void) {
        if let index = reminders.firstIndex(where: { $0.stored == reminder }) { change(&reminders[index]) }
    }
}
