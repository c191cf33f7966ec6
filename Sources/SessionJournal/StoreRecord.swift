import MVI

/// A stored store without its state.
package struct StoreSummary: Sendable, Hashable {
    package var feature: FeatureID
    /// The number of its last turn.
    package var number: UInt64
    /// The number of the last turn that changed its view state.
    package var version: UInt64
    /// The number of the turn that created it; unlike that of an earlier store of the same feature instance.
    package var made: UInt64
    /// Equal to `made` if the store replaced one that could not be read; otherwise 0.
    package var replaced: UInt64
    private var seen: Int64

    /// The last noted use, as time since 1970; 0 if none is noted. Not compared, since it is noted with a delay.
    package var lastSeen: Duration {
        get { .nanoseconds(seen) }
        set { seen = newValue.nanoseconds }
    }

    package init(
        feature: FeatureID, number: UInt64, version: UInt64, made: UInt64, replaced: UInt64, lastSeen: Duration = .zero
    ) {
        (self.feature, self.number, self.version) = (feature, number, version)
        (self.made, self.replaced, seen) = (made, replaced, lastSeen.nanoseconds)
    }

    package static func == (left: StoreSummary, right: StoreSummary) -> Bool {
        left.feature == right.feature && left.number == right.number && left.version == right.version
            && left.made == right.made && left.replaced == right.replaced
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(feature)
        hasher.combine(number)
    }
}

/// A stored store.
@usableFromInline package struct StoredStore: Sendable, Hashable, Identifiable {
    package var summary: StoreSummary
    /// The schema version of `state`.
    @usableFromInline package var schemaVersion: Int
    /// The state as JSON.
    @usableFromInline package var state: [UInt8]
    /// The view state as JSON.
    package var view: [UInt8]
    /// The intent that led to `view`, or nil if there was none.
    package var viewIntent: String?

    @usableFromInline package var id: FeatureID { summary.feature }

    package init(summary: StoreSummary, schemaVersion: Int, state: [UInt8], view: [UInt8], viewIntent: String?) {
        (self.summary, self.schemaVersion, self.state) = (summary, schemaVersion, state)
        (self.view, self.viewIntent) = (view, viewIntent)
    }
}

/// Stores of a session, and the position of its log when they were read, which tells of which log they are.
package struct LoadedStores: Sendable {
    /// Nil if the session is not there.
    package var mark: SessionMark?
    package var stores: [StoredStore]

    package init(_ mark: SessionMark?, _ stores: [StoredStore]) { (self.mark, self.stores) = (mark, stores) }
}

/// A state that could not be read, or only in part.
package struct SetAsideState: Sendable, Hashable {
    package var feature: FeatureID
    /// The schema version of `state`.
    package var schemaVersion: Int
    /// The stored bytes.
    package var state: [UInt8]
    /// The reason for setting it aside.
    package var reason: String
    /// The time since 1970 at which it was set aside.
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
    /// The time since 1970 at which it was appended.
    package var time: Duration
    /// A JSON object that describes the turn.
    package var recording: [UInt8]

    package init(number: UInt64, feature: FeatureID, time: Duration, recording: [UInt8]) {
        (self.number, self.feature, self.time, self.recording) = (number, feature, time, recording)
    }
}

/// The id of a label inside its session.
package struct LabelID: Hashable, Sendable, Comparable {
    /// The number of the turn that published it.
    package var number: UInt64
    /// The label's index in its turn.
    package var index: Int

    package init(number: UInt64, index: Int) {
        self.number = number
        self.index = index
    }

    package static func < (left: LabelID, right: LabelID) -> Bool {
        (left.number, left.index) < (right.number, right.index)
    }
}

/// A stored label.
package struct StoredLabel: Sendable, Hashable {
    package var id: LabelID
    /// The feature instance that published it.
    package var feature: FeatureID
    /// The store's version after the turn.
    package var version: UInt64
    /// The intent that led to it, or nil if there was none.
    package var intent: String?
    package var json: [UInt8]
    /// The time since 1970 after which it is no longer delivered.
    package var expiry: Duration
    /// True if it was written to a stream's socket, as far as that was noted.
    package var isWritten: Bool
    /// Nil if it is for everyone.
    package var to: LabelAddressee?

    package init(
        id: LabelID, feature: FeatureID, version: UInt64, intent: String?, json: [UInt8], expiry: Duration,
        isWritten: Bool = false, to: LabelAddressee? = nil
    ) {
        (self.id, self.feature, self.version, self.intent) = (id, feature, version, intent)
        (self.json, self.expiry, self.isWritten, self.to) = (json, expiry, isWritten, to)
    }
}

/// A session's record of labels that are no longer stored.
package struct LostLabels: Sendable, Hashable {
    /// The last label of a feature instance that was dropped by a bound, not by expiry.
    package struct Dropped: Sendable, Hashable {
        /// The number of its turn.
        package var number: UInt64
        /// True if a dropped label was never written to a stream and no stream has been told yet.
        package var isUnheard: Bool

        package init(number: UInt64, isUnheard: Bool) {
            self.number = number
            self.isUnheard = isUnheard
        }
    }

    /// True if a label has left the outbox, by a bound or by expiry.
    package var hasAny = false
    package var dropped: [FeatureID: Dropped] = [:]

    package init() {}
}
