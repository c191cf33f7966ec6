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

    package init(feature: FeatureID, id: String, due: Duration, number: UInt64, action: [UInt8]) {
        (self.feature, self.id, self.due, self.number, self.action) = (feature, id, due, number, action)
    }
}

extension StoredReminder {
    /// The time after its due time for which a reminder, which may be unreadable, keeps its session alive.
    package static let sessionLife: Duration = .seconds(30 * 24 * 3600)

    /// Ids are compared byte for byte: `==` on strings treats composed and decomposed letters as equal.
    package func isNamed(_ id: String, of feature: FeatureID) -> Bool {
        self.feature == feature && self.id.utf8.elementsEqual(id.utf8)
    }
}

/// A batch's change of a session's reminders.
package enum ReminderChange: Sendable, Hashable {
    /// Sets a reminder and replaces one of the same feature instance and id.
    case set(StoredReminder)
    /// Removes a reminder if it is present.
    case forgotten(FeatureID, id: String)
}

/// A due time of a session's reminders.
package struct Alarm: Sendable, Hashable {
    /// The token of the session's record.
    package var token: TokenHash
    package var session: SessionKey
    /// The time since 1970 at which the reminder fires.
    package var due: Duration

    package init(token: TokenHash, session: SessionKey, due: Duration) {
        (self.token, self.session, self.due) = (token, session, due)
    }
}
