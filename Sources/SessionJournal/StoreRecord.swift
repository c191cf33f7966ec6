/// A store as it is kept, without its state.
public struct StoreSummary: Sendable, Hashable {
    public var feature: FeatureID
    /// The number of the last turn that was about it.
    public var number: UInt64
    /// The number of the last turn that changed its view state.
    public var version: UInt64
    /// The number of the turn that made it. It tells the store from an earlier one of the same feature instance.
    public var made: UInt64
    /// The same as `made` if the store took the place of one that could not be read; else 0.
    public var replaced: UInt64

    public init(feature: FeatureID, number: UInt64, version: UInt64, made: UInt64, replaced: UInt64) {
        (self.feature, self.number, self.version) = (feature, number, version)
        (self.made, self.replaced) = (made, replaced)
    }
}

/// A store as it is kept.
public struct StoredStore: Sendable, Hashable {
    public var summary: StoreSummary
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// As JSON.
    public var state: [UInt8]
    /// As JSON.
    public var view: [UInt8]
    /// The intent that led to `view`; nil if none did.
    public var viewIntent: String?

    public init(summary: StoreSummary, schemaVersion: Int, state: [UInt8], view: [UInt8], viewIntent: String?) {
        (self.summary, self.schemaVersion, self.state) = (summary, schemaVersion, state)
        (self.view, self.viewIntent) = (view, viewIntent)
    }
}

/// A state that could not be read, or not whole.
public struct SetAsideState: Sendable, Hashable {
    public var feature: FeatureID
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// As it was kept.
    public var state: [UInt8]
    /// Why it was set aside.
    public var reason: String
    /// When it was set aside: time since 1970.
    public var time: Duration

    public init(feature: FeatureID, schemaVersion: Int, state: [UInt8], reason: String, time: Duration) {
        (self.feature, self.schemaVersion, self.state) = (feature, schemaVersion, state)
        (self.reason, self.time) = (reason, time)
    }
}

/// A recorded turn.
public struct RecordedTurn: Sendable, Hashable {
    public var number: UInt64
    public var feature: FeatureID
    /// When it was appended: time since 1970.
    public var time: Duration
    /// What happened in it: a JSON object.
    public var recording: [UInt8]

    public init(number: UInt64, feature: FeatureID, time: Duration, recording: [UInt8]) {
        (self.number, self.feature, self.time, self.recording) = (number, feature, time, recording)
    }
}

/// Names a label inside its session.
public struct LabelID: Hashable, Sendable, Comparable {
    /// The number of the turn that published it.
    public var number: UInt64
    /// Which of that turn's labels it is.
    public var index: Int

    public init(number: UInt64, index: Int) {
        self.number = number
        self.index = index
    }

    public static func < (left: LabelID, right: LabelID) -> Bool {
        (left.number, left.index) < (right.number, right.index)
    }
}

/// A label as it is kept.
public struct StoredLabel: Sendable, Hashable {
    public var id: LabelID
    /// The feature instance that published it.
    public var feature: FeatureID
    /// The store's version after the turn.
    public var version: UInt64
    /// The intent that led to it; nil if none did.
    public var intent: String?
    public var json: [UInt8]
    /// When it is no longer to be delivered: time since 1970.
    public var expiry: Duration
    /// Whether some stream's socket took it, as far as that was noted.
    public var isWritten: Bool

    public init(
        id: LabelID, feature: FeatureID, version: UInt64, intent: String?, json: [UInt8], expiry: Duration,
        isWritten: Bool = false
    ) {
        (self.id, self.feature, self.version, self.intent) = (id, feature, version, intent)
        (self.json, self.expiry, self.isWritten) = (json, expiry, isWritten)
    }
}

/// What a session remembers of labels that it keeps no more.
public struct LostLabels: Sendable, Hashable {
    /// The last label of a feature instance that was dropped by a bound, not by its time.
    public struct Dropped: Sendable, Hashable {
        /// The number of its turn.
        public var number: UInt64
        /// Whether one of those dropped was never written to any stream, and no stream has been told so yet.
        public var isUnheard: Bool

        public init(number: UInt64, isUnheard: Bool) {
            self.number = number
            self.isUnheard = isUnheard
        }
    }

    /// Whether any label has left the outbox, by a bound or by its time.
    public var hasAny = false
    public var dropped: [FeatureID: Dropped] = [:]

    public init() {}
}
