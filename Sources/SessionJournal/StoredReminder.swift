/// An action that a store asked to be reminded of.
package struct StoredReminder: Sendable, Hashable {
    /// The feature instance that asked.
    package var feature: FeatureID
    /// The author's name for it: of one name there is one inside a feature instance.
    package var id: String
    /// When it is to fire: time since 1970.
    package var due: Duration
    /// The number of the turn that set it.
    package var number: UInt64
    /// As JSON.
    package var action: [UInt8]

    package init(feature: FeatureID, id: String, due: Duration, number: UInt64, action: [UInt8]) {
        (self.feature, self.id, self.due, self.number, self.action) = (feature, id, due, number, action)
    }
}

extension StoredReminder {
    /// How long after its due time a reminder keeps its session alive: it may be one that no build can read any more.
    package static let sessionLife: Duration = .seconds(30 * 24 * 3600)

    /// Ids are compared byte for byte: `==` on strings takes composed and decomposed letters for the same.
    package func isNamed(_ id: String, of feature: FeatureID) -> Bool {
        self.feature == feature && self.id.utf8.elementsEqual(id.utf8)
    }
}

/// What a batch changes of a session's reminders.
package enum ReminderChange: Sendable, Hashable {
    /// Takes the place of one of the same feature instance and id.
    case set(StoredReminder)
    /// Forgets it, if it is there.
    case forgotten(FeatureID, id: String)
}

/// A reminder of some session, to be looked after.
package struct Alarm: Sendable, Hashable {
    /// The token of the session's record.
    package var token: TokenHash
    package var session: SessionKey
    /// When it is to fire: time since 1970.
    package var due: Duration

    package init(token: TokenHash, session: SessionKey, due: Duration) {
        (self.token, self.session, self.due) = (token, session, due)
    }
}
