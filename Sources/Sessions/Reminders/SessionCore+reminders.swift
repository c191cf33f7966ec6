import MVI
import SessionJournal

/// Names a reminder inside its session.
struct ReminderName: Hashable {
    let feature: FeatureID
    let id: String

    init(_ reminder: StoredReminder) { (feature, id) = (reminder.feature, reminder.id) }
}

/// A reminder whose action threw, to be tried again.
struct ReminderRetry {
    var tries = 0
    /// Since 1970.
    var notBefore: Duration = .zero

    static let limit = 5

    /// From one second on, doubled each time.
    mutating func noteFailure(now: Duration) {
        notBefore = now + .seconds(1 << tries)
        tries += 1
    }
}

extension [StoredReminder] {
    /// The reminders after a batch's changes, the one that is due first at the front.
    func applying(_ changes: [ReminderChange]) -> [StoredReminder] {
        var reminders = self
        for change in changes {
            switch change {
            case .forgotten(let feature, let id): reminders.removeAll { $0.feature == feature && $0.id == id }
            case .set(let reminder):
                reminders.removeAll { $0.feature == reminder.feature && $0.id == reminder.id }
                reminders.append(reminder)
            }
        }
        return reminders.sorted { $0.due < $1.due }
    }
}

extension SessionCore {
    /// The reminders with those of the batch's turns.
    var currentReminders: [StoredReminder] {
        batch.reminders.map { reminders.applying($0) } ?? reminders
    }

    /// How many reminders the session would have after these changes of a feature instance's, in the chain that runs.
    func reminderCount(after changes: [EncodedReminder], of feature: FeatureID) -> Int {
        currentReminders.applying(chainReminders).applying(changes.map { ReminderChange($0, of: feature) }).count
    }

    /// Whether a reminder whose turn fails now is not tried again.
    func isLastTry(of reminder: StoredReminder) -> Bool {
        (retries?[ReminderName(reminder)]?.tries ?? 0) + 1 >= ReminderRetry.limit
    }

    /// When the next reminder is to fire; nil if there is none: since 1970.
    var nextReminder: Duration? {
        reminders.map { max($0.due, retries?[ReminderName($0)]?.notBefore ?? .zero) }.min()
    }

    /// The reminders to fire now; they count as under way from now on.
    mutating func takeDueReminders(now: Duration) -> [StoredReminder] {
        guard isLive else { return [] }
        let due = reminders.filter { reminder in
            let name = ReminderName(reminder)
            return reminder.due <= now && !firing.contains(name) && (retries?[name]?.notBefore ?? .zero) <= now
        }
        for reminder in due { firing.append(ReminderName(reminder)) }
        return due
    }
}
