/// An intent whose turn is committed.
public struct IntentOutcome: Sendable {
    /// The intent's id.
    public let id: IntentID
    /// The store's version after the turn: the number of the last turn that changed its view state.
    public let version: UInt64
    /// Whether no work that the intent launched is running.
    public var isSettled: Bool
    /// The view state as its session's clients are shown it, where the request wants it: after the turn, after the wait
    /// if there was one, the present one for a repeated request.
    public var state: StateSnapshot?
    /// Whether the client may not be shown the state that it wants: it lost its access after the intent had run.
    public var isWithheld = false
    /// Whether this is the outcome of an earlier request, from its receipt.
    public var isReplayed = false
    /// Whether the request's wait was granted; false also where none was asked for.
    public var isWaitGranted = false

    /// The answer of an earlier request with the same number, which was refused; nil if the intent ran.
    public let refusal: RecordedRefusal?

    package init(id: IntentID, version: UInt64, isSettled: Bool) {
        (self.id, self.version, self.isSettled, refusal) = (id, version, isSettled, nil)
    }

    package init(id: IntentID, refusal: RecordedRefusal) {
        (self.id, version, isSettled, isReplayed, self.refusal) = (id, 0, true, true, refusal)
    }
}

/// The answer that is stored when a refusal uses up its `Intent-Seq`.
public struct RecordedRefusal: Sendable, Equatable {
    /// The answer's status.
    public let status: Int
    /// The answer's body.
    public let body: [UInt8]

    /// An answer's status and body.
    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// A committed view state as JSON.
public struct StateSnapshot: Sendable, Equatable {
    /// The store's version.
    public let version: UInt64
    /// The view state.
    public let view: [UInt8]
    /// The name of the log that the version is of.
    package let epoch: String

    package init(version: UInt64, view: [UInt8], epoch: String = "") {
        (self.version, self.view, self.epoch) = (version, view, epoch)
    }

    /// Its entity tag, without quotes: no other state of the feature instance has it.
    package var entityTag: String { "\(epoch).\(version)" }
}
