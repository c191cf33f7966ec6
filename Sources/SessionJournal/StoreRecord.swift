/// What compare-and-append compares: new with each append. The version alone would not do, since two branches can reach
/// the same one.
public struct StoreToken: Hashable, Sendable {
    /// The store's version.
    public var version: UInt64
    /// Random.
    public var nonce: UInt64

    public init(version: UInt64, nonce: UInt64) {
        self.version = version
        self.nonce = nonce
    }

    /// A new token of that version.
    public static func random(version: UInt64) -> StoreToken {
        StoreToken(version: version, nonce: .random(in: .min ... .max))
    }
}

/// What a store remembers of its labels.
public struct StoreMarks: Sendable, Hashable {
    /// The sequence number of the last label that was dropped while somebody could be owed it.
    public var droppedSequence: UInt64 = 0
    /// Whether it ever published a label.
    public var hasLabels = false
    /// Whether a label was dropped that no stream ever got, while none showed the store.
    public var hasUnheard = false

    public init() {}
}

/// A store as it is kept, without its state.
public struct StoreSummary: Sendable, Hashable {
    /// The feature instance.
    public var feature: FeatureID
    /// Its token; its version is the store's.
    public var token: StoreToken
    /// What it remembers of its labels.
    public var marks: StoreMarks
    /// The sequence number of the turn with which it took the place of one that could not be read; 0 if it never did.
    public var replacedSequence: UInt64

    public init(feature: FeatureID, token: StoreToken, marks: StoreMarks, replacedSequence: UInt64) {
        self.feature = feature
        self.token = token
        self.marks = marks
        self.replacedSequence = replacedSequence
    }
}

/// A store as it is kept.
public struct StoredStore: Sendable, Hashable {
    /// What is known without its state.
    public var summary: StoreSummary
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// The state as JSON.
    public var state: [UInt8]
    /// The view state as JSON.
    public var view: [UInt8]
    /// The intent that led to `view`; nil if none did.
    public var viewIntent: String?

    public init(summary: StoreSummary, schemaVersion: Int, state: [UInt8], view: [UInt8], viewIntent: String?) {
        self.summary = summary
        self.schemaVersion = schemaVersion
        self.state = state
        self.view = view
        self.viewIntent = viewIntent
    }
}

/// Names a label inside its session.
public struct LabelID: Hashable, Sendable, Comparable {
    /// Of the turn that published it.
    public var sequence: UInt64
    /// Which of that turn's labels it is.
    public var index: Int

    public init(sequence: UInt64, index: Int) {
        self.sequence = sequence
        self.index = index
    }

    public static func < (left: LabelID, right: LabelID) -> Bool {
        (left.sequence, left.index) < (right.sequence, right.index)
    }
}

/// A label as it is kept.
public struct StoredLabel: Sendable {
    /// Its name.
    public var id: LabelID
    /// The feature instance that published it.
    public var feature: FeatureID
    /// What was appended.
    public var label: LabelAppend
    /// Whether some stream's socket took it, as far as that was noted.
    public var isWritten: Bool

    public init(id: LabelID, feature: FeatureID, label: LabelAppend, isWritten: Bool) {
        self.id = id
        self.feature = feature
        self.label = label
        self.isWritten = isWritten
    }
}
