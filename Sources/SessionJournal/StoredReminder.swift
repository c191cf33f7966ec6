import MVI

/// A durable timer of a store.
package struct StoredReminder: Sendable, Hashable {
    /// The feature instance that set it.
    package var feature: FeatureID
    /// The author's name for it, unique inside a feature instance.
    package var id: String
    /// The time since 1970 at which it fires.
    package var due: Duration
    /// The number of the turn that set it.
    package var number: UInt64
    /// The action as JSON.
    package var action: [UInt8]
    /// The time since 1970 of the next attempt after one that could not fire it; zero without such an attempt.
    package var notBefore: Duration

    package init(
        feature: FeatureID, id: String, due: Duration, number: UInt64, action: [UInt8], notBefore: Duration = .zero
    ) {
        (self.feature, self.id, self.due, self.number, self.action) = (feature, id, due, number, action)
        self.notBefore = notBefore
    }

    /// The time since 1970 of its next attempt.
    package var next: Duration { max(due, notBefore) }
}

extension StoredReminder {
    /// The time after its due time for which a reminder, which may be unreadable, keeps its session alive.
    package static let sessionLife: Duration = .seconds(30 * 24 * 3600)

    /// Ids are compared byte for byte: `==` on strings treats composed and decomposed letters as equal.
    package func isNamed(_ id: String, of feature: FeatureID) -> Bool {
        self.feature == feature && self.id.utf8.elementsEqual(id.utf8)
    }

    /// True if the other one is this one, whenever it is attempted next.
    package func isSame(as other: StoredReminder) -> Bool {
        isNamed(other.id, of: other.feature) && (due, number) == (other.due, other.number)
    }
}

/// A batch's change of a session's reminders.
package enum ReminderChange: Sendable, Hashable {
    /// Sets a reminder and replaces one of the same feature instance and id.
    case set(StoredReminder)
    /// Removes a reminder if it is present.
    case forgotten(FeatureID, id: String)
}

extension [StoredReminder] {
    /// Returns the reminders after a batch's changes, in no order.
    package func applying(_ changes: [ReminderChange]) -> [StoredReminder] {
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

/// The time of the next attempt of some of a session's reminders.
package struct Alarm: Sendable, Hashable {
    /// The token of the session's record.
    package var token: TokenHash
    package var session: SessionKey
    /// `StoredReminder.next`.
    package var due: Duration

    package init(token: TokenHash, session: SessionKey, due: Duration) {
        (self.token, self.session, self.due) = (token, session, due)
    }
}
