import MVI
import SessionJournal

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
