/// A store as it is kept, without its state.
package struct StoreSummary: Sendable, Hashable {
    package var feature: FeatureID
    /// The number of the last turn that was about it.
    package var number: UInt64
    /// The number of the last turn that changed its view state.
    package var version: UInt64
    /// The number of the turn that made it. It tells the store from an earlier one of the same feature instance.
    package var made: UInt64
    /// The same as `made` if the store took the place of one that could not be read; else 0.
    package var replaced: UInt64

    package init(feature: FeatureID, number: UInt64, version: UInt64, made: UInt64, replaced: UInt64) {
        (self.feature, self.number, self.version) = (feature, number, version)
        (self.made, self.replaced) = (made, replaced)
    }
}

/// A store as it is kept.
@usableFromInline package struct StoredStore: Sendable, Hashable {
    package var summary: StoreSummary
    /// The schema version of `state`.
    @usableFromInline package var schemaVersion: Int
    /// As JSON.
    @usableFromInline package var state: [UInt8]
    /// As JSON.
    package var view: [UInt8]
    /// The intent that led to `view`; nil if none did.
    package var viewIntent: String?

    package init(summary: StoreSummary, schemaVersion: Int, state: [UInt8], view: [UInt8], viewIntent: String?) {
        (self.summary, self.schemaVersion, self.state) = (summary, schemaVersion, state)
        (self.view, self.viewIntent) = (view, viewIntent)
    }
}

/// A state that could not be read, or not whole.
package struct SetAsideState: Sendable, Hashable {
    package var feature: FeatureID
    /// The schema version of `state`.
    package var schemaVersion: Int
    /// As it was kept.
    package var state: [UInt8]
    /// Why it was set aside.
    package var reason: String
    /// When it was set aside: time since 1970.
    package var time: Duration

    package init(feature: FeatureID, schemaVersion: Int, state: [UInt8], reason: String, time: Duration) {
        (self.feature, self.schemaVersion, self.state) = (feature, schemaVersion, state)
        (self.reason, self.time) = (reason, time)
    }
}

/// A recorded turn.
package struct RecordedTurn: Sendable, Hashable {
    package var number: UInt64
    package var feature: FeatureID
    /// When it was appended: time since 1970.
    package var time: Duration
    /// What happened in it: a JSON object.
    package var recording: [UInt8]

    package init(number: UInt64, feature: FeatureID, time: Duration, recording: [UInt8]) {
        (self.number, self.feature, self.time, self.recording) = (number, feature, time, recording)
    }
}

/// Names a label inside its session.
package struct LabelID: Hashable, Sendable, Comparable {
    /// The number of the turn that published it.
    package var number: UInt64
    /// Which of that turn's labels it is.
    package var index: Int

    package init(number: UInt64, index: Int) {
        self.number = number
        self.index = index
    }

    package static func < (left: LabelID, right: LabelID) -> Bool {
        (left.number, left.index) < (right.number, right.index)
    }
}

/// A label as it is kept.
package struct StoredLabel: Sendable, Hashable {
    package var id: LabelID
    /// The feature instance that published it.
    package var feature: FeatureID
    /// The store's version after the turn.
    package var version: UInt64
    /// The intent that led to it; nil if none did.
    package var intent: String?
    package var json: [UInt8]
    /// When it is no longer to be delivered: time since 1970.
    package var expiry: Duration
    /// Whether some stream's socket took it, as far as that was noted.
    package var isWritten: Bool

    package init(
        id: LabelID, feature: FeatureID, version: UInt64, intent: String?, json: [UInt8], expiry: Duration,
        isWritten: Bool = false
    ) {
        (self.id, self.feature, self.version, self.intent) = (id, feature, version, intent)
        (self.json, self.expiry, self.isWritten) = (json, expiry, isWritten)
    }
}

/// What a session remembers of labels that it keeps no more.
package struct LostLabels: Sendable, Hashable {
    /// The last label of a feature instance that was dropped by a bound, not by its time.
    package struct Dropped: Sendable, Hashable {
        /// The number of its turn.
        package var number: UInt64
        /// Whether one of those dropped was never written to any stream, and no stream has been told so yet.
        package var isUnheard: Bool

        package init(number: UInt64, isUnheard: Bool) {
            self.number = number
            self.isUnheard = isUnheard
        }
    }

    /// Whether any label has left the outbox, by a bound or by its time.
    package var hasAny = false
    package var dropped: [FeatureID: Dropped] = [:]

    package init() {}
}
