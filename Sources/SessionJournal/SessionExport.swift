/// Everything that is kept of a session, for people and tests to look at.
public struct SessionExport: Sendable {
    /// The session, its labels and receipts.
    public var session: StoredSession
    /// Its stores with their states.
    public var stores: [StoredStore]
    /// The turns that were recorded, oldest first.
    public var turns: [RecordedTurn]
    /// States that could not be read and were set aside.
    public var setAside: [SetAsideState]

    public init(session: StoredSession, stores: [StoredStore], turns: [RecordedTurn], setAside: [SetAsideState]) {
        self.session = session
        self.stores = stores
        self.turns = turns
        self.setAside = setAside
    }
}

/// A recorded turn.
public struct RecordedTurn: Sendable, Hashable {
    /// Its number.
    public var number: UInt64
    /// The feature instance.
    public var feature: FeatureID
    /// When it was appended: time since 1970.
    public var time: Duration
    /// What happened in it: a JSON object.
    public var recording: [UInt8]

    public init(number: UInt64, feature: FeatureID, time: Duration, recording: [UInt8]) {
        self.number = number
        self.feature = feature
        self.time = time
        self.recording = recording
    }
}

/// A state that could not be read.
public struct SetAsideState: Sendable, Hashable {
    /// The feature instance.
    public var feature: FeatureID
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// The state, as it was kept.
    public var state: [UInt8]
    /// Why it could not be read.
    public var reason: String
    /// When it was set aside: time since 1970.
    public var time: Duration

    public init(feature: FeatureID, schemaVersion: Int, state: [UInt8], reason: String, time: Duration) {
        self.feature = feature
        self.schemaVersion = schemaVersion
        self.state = state
        self.reason = reason
        self.time = time
    }
}
