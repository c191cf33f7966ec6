import MVI
import SessionJournal

/// A reminder of a session, with the attempts of this process.
struct SessionReminder {
    let stored: StoredReminder
    /// The limit of a recording of the session; nil for other reminders.
    let recording: RecordingLimit?
    /// The time until which it keeps its session alive, on the monotonic clock.
    let keepsSessionUntil: Duration
    /// The number of times that its action threw.
    private(set) var tries = 0
    /// The number of attempts in a row that ran nothing, since a store is not available.
    private var misses = 0
    /// The earliest time for the next attempt after a throw or a miss: since 1970.
    private(set) var notBefore: Duration = .zero
    /// True if its turn waits or runs.
    var isUnderWay = false
    /// True if this build cannot decode its action. It stays stored for another build and is not fired again here.
    var isUnreadable = false
    /// The time at which it was last taken to be fired, on the monotonic clock.
    var lastLook: Duration?

    static let tryLimit = 5

    /// A reminder without attempts.
    init(_ stored: StoredReminder, now: Moment) {
        self.stored = stored
        recording = stored.recordingLimit
        if recording != nil { SessionStore.hasRecordings.store(true, ordering: .relaxed) }
        keepsSessionUntil = now.monotonic(stored.due) + StoredReminder.sessionLife
    }

    /// The time of the next attempt: since 1970. Nil if this process makes none.
    var next: Duration? { isUnreadable ? nil : max(stored.due, notBefore) }

    /// Records a throw. The reminder is retried after one second, doubled each time.
    mutating func noteFailure(now: Duration) {
        notBefore = now + .seconds(1 << min(tries, 6))
        tries += 1
    }

    /// Records an attempt that ran nothing. The next look tries again, later ones after growing pauses of at most six hours:
    /// each loads the session and the store.
    mutating func noteMiss(now: Duration) {
        if misses > 0 { notBefore = now + .seconds(min(15 << min(misses, 11), 6 * 3_600)) }
        misses += 1
    }
}

extension [SessionReminder] {
    /// Applies a batch's changes. A reminder that is set or replaced starts without attempts.
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

    /// Adopts the stored reminders. Known ones keep their attempts.
    mutating func adopt(_ kept: [StoredReminder], now: Moment) {
        guard !kept.isEmpty || !isEmpty else { return }
        let known = self
        self = kept.map { stored in known.first { $0.stored == stored } ?? SessionReminder(stored, now: now) }
    }
}

extension [StoredReminder] {
    /// Returns the reminders after a batch's changes, in no order.
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
    /// The reminders including those of the batch's turns.
    var currentReminders: [StoredReminder] { reminders.map(\.stored).applying(batch.reminders) }

    /// Returns the number of the session's reminders after these changes of a feature instance, in the running chain.
    func reminderCount(after changes: [EncodedReminder], of feature: FeatureID) -> Int {
        currentReminders.applying(rare?.chainReminders ?? []).applying(changes.map { ReminderChange($0, of: feature) })
            .count { !$0.isServers }
    }

    /// True if a reminder whose turn fails now is not retried.
    func isLastTry(of reminder: StoredReminder) -> Bool {
        let tries = reminders.first { $0.stored == reminder }?.tries ?? 0
        return tries + 1 >= (reminder.isSignIn ? 1 : SessionReminder.tryLimit)
    }

    /// The time of the next reminder, since 1970; nil if there is none.
    var nextReminder: Duration? { reminders.compactMap(\.next).min() }

    /// Takes the due reminders and marks them as under way.
    mutating func takeDueReminders(
        now: Moment, _ isMeant: (StoredReminder) -> Bool = { _ in true }
    ) -> [StoredReminder] {
        guard isLive else { return [] }
        var due: [StoredReminder] = []
        for index in reminders.indices
        where reminders[index].stored.due <= now.sinceEpoch && isMeant(reminders[index].stored) {
            guard !reminders[index].isUnderWay, let next = reminders[index].next, next <= now.sinceEpoch else {
                continue
            }
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
