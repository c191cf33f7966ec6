import MVI
import SessionJournal

/// A reminder of a session, with what this process knows of its tries.
struct SessionReminder {
    let stored: StoredReminder
    /// Until when it keeps its session alive, on the monotonic clock.
    let keepsSessionUntil: Duration
    /// How often its action threw.
    private(set) var tries = 0
    /// When it may fire again after a throw: since 1970.
    private(set) var notBefore: Duration = .zero
    /// Whether its turn waits or runs.
    var isUnderWay = false
    /// Whether this build cannot read its action. Another one may: it is kept, and not fired again here.
    var isUnreadable = false
    /// When it was last taken to be fired, on the monotonic clock.
    var lastLook: Duration?

    static let tryLimit = 5

    /// A reminder that was not tried yet.
    init(_ stored: StoredReminder, now: Moment) {
        self.stored = stored
        keepsSessionUntil = now.monotonic(stored.due) + StoredReminder.sessionLife
    }

    /// When it fires next: since 1970. Nil if not in this process.
    var next: Duration? { isUnreadable ? nil : max(stored.due, notBefore) }

    /// Notes a throw: it is tried again from one second on, doubled each time.
    mutating func noteFailure(now: Duration) {
        notBefore = now + .seconds(1 << min(tries, 6))
        tries += 1
    }
}

extension [SessionReminder] {
    /// Applies a batch's changes. A reminder that is set, also anew, has no tries.
    mutating func apply(_ changes: [ReminderChange], now: Moment) {
        for change in changes {
            switch change {
            case .forgotten(let feature, let id): removeAll { $0.stored.isNamed(id, of: feature) }
            case .set(let reminder):
                removeAll { $0.stored.isNamed(reminder.id, of: reminder.feature) }
                append(SessionReminder(reminder, now: now))
            }
        }
        sort { $0.stored.due < $1.stored.due }
    }

    /// Takes the reminders that are kept; those that are known keep their tries.
    mutating func adopt(_ kept: [StoredReminder], now: Moment) {
        guard !kept.isEmpty || !isEmpty else { return }
        let known = self
        self = kept.map { stored in known.first { $0.stored == stored } ?? SessionReminder(stored, now: now) }
    }
}

extension [StoredReminder] {
    /// The reminders after a batch's changes, in no order.
    func applying(_ changes: [ReminderChange]) -> [StoredReminder] {
        var reminders = self
        for change in changes {
            switch change {
            case .forgotten(let feature, let id): reminders.removeAll { $0.isNamed(id, of: feature) }
            case .set(let reminder):
                reminders.removeAll { $0.isNamed(reminder.id, of: reminder.feature) }
                reminders.append(reminder)
            }
        }
        return reminders
    }
}

extension SessionCore {
    /// The reminders with those of the batch's turns.
    var currentReminders: [StoredReminder] { reminders.map(\.stored).applying(batch.reminders) }

    /// How many reminders the session would have after these changes of a feature instance's, in the chain that runs.
    func reminderCount(after changes: [EncodedReminder], of feature: FeatureID) -> Int {
        currentReminders.applying(chainReminders).applying(changes.map { ReminderChange($0, of: feature) })
            .count { !$0.isSignIn }
    }

    /// Whether a reminder whose turn fails now is not tried again.
    func isLastTry(of reminder: StoredReminder) -> Bool {
        let tries = reminders.first { $0.stored == reminder }?.tries ?? 0
        return tries + 1 >= (reminder.isSignIn ? 1 : SessionReminder.tryLimit)
    }

    /// When the next reminder is to fire; nil if there is none: since 1970.
    var nextReminder: Duration? { reminders.compactMap(\.next).min() }

    /// The reminders to fire now; they count as under way from now on.
    mutating func takeDueReminders(
        now: Moment, _ isMeant: (StoredReminder) -> Bool = { _ in true }
    ) -> [StoredReminder] {
        guard isLive else { return [] }
        var due: [StoredReminder] = []
        for index in reminders.indices
        where reminders[index].stored.due <= now.sinceEpoch && isMeant(reminders[index].stored) {
            reminders[index].lastLook = now.monotonic
            guard !reminders[index].isUnderWay, let next = reminders[index].next, next <= now.sinceEpoch else {
                continue
            }
            reminders[index].isUnderWay = true
            due.append(reminders[index].stored)
        }
        return due
    }

    /// Changes what is known of a reminder's tries, if it is there and was not set anew.
    mutating func changeTries(of reminder: StoredReminder, _ change: (inout SessionReminder) -> Void) {
        if let index = reminders.firstIndex(where: { $0.stored == reminder }) { change(&reminders[index]) }
    }
}
