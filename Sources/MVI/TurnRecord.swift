/// A turn that has run and is to be committed.
public final class TurnRecord<F: Feature>: Sendable {
    /// The intent that led to it.
    public let intentID: IntentID
    /// The state after it.
    public let state: F.State
    /// What clients see of that state.
    public let view: F.ViewState
    /// Whether the turn dispatched messages: if not, `state` is that of the turn before.
    public let stateChanged: Bool
    /// Whether `view` differs from that of the turn before.
    public let viewChanged: Bool
    /// Its labels, in order.
    public let labels: [F.Label]
    /// Everything that happened in it, in order; empty unless the store is observed or records.
    public let events: [Observation<F>.Event]
    /// What the caller of `accept` gave along.
    public let attachment: (any AnyObject & Sendable)?

    @inlinable
    init(
        intentID: IntentID, state: F.State, view: F.ViewState, stateChanged: Bool, viewChanged: Bool,
        labels: [F.Label], events: [Observation<F>.Event],
        attachment: (any AnyObject & Sendable)?
    ) {
        self.intentID = intentID
        self.state = state
        self.view = view
        self.stateChanged = stateChanged
        self.viewChanged = viewChanged
        self.labels = labels
        self.events = events
        self.attachment = attachment
    }
}

/// Where turns become permanent. A store has one commit in flight at a time and runs nothing meanwhile.
public protocol TurnLog<F>: Sendable {
    /// The feature whose turns it takes.
    associatedtype F: Feature

    /// Commits the turns as one unit. Called by one thread at a time, never under a lock.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` once, later, from any thread that may
    /// run handlers.
    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void
    ) -> CommitResult<F>?
}

/// `TurnLog.commit`.
@usableFromInline
typealias TurnCommit<F: Feature> =
    @Sendable ([TurnRecord<F>], _ done: @escaping @Sendable (CommitResult<F>) -> Void) -> CommitResult<F>?

/// How a commit ended.
public enum CommitResult<F: Feature>: Sendable {
    /// The turns are permanent. A log that numbers view states says the number of the last one: each turn that changed
    /// the view state counted one.
    case committed(version: UInt64 = 0)
    /// Another writer was first and led the store to that state. Nothing of the turns is permanent or may be shown;
    /// they are run again on it.
    indirect case conflict(newer: F.State)
    /// They certainly are not, and nothing of them may be shown.
    case failed(CommitFailure)
}

/// Why turns could not be made permanent.
public struct CommitFailure: Error, Sendable, Equatable {
    /// What is the matter.
    public enum Code: Sendable, Equatable {
        /// The log cannot be written now.
        case unavailable
        /// The log's medium is full.
        case full
        /// A bound was exceeded, for instance the bytes of a view state.
        case tooLarge
        /// What the turns led to cannot be written down, for instance a number that is not finite.
        case invalid
        /// Other writers were first again and again.
        case contended
        /// The turn's receipt was committed before, by this writer or another.
        case duplicate
        /// The store is gone.
        case disposed

        /// Whether the turn itself is at fault: it would fail again and again, and others need not.
        var isOfTurn: Bool { self == .tooLarge || self == .invalid || self == .duplicate }
    }

    /// What is the matter.
    public let code: Code
    /// A sentence for an operator or a client's author.
    public let detail: String

    /// A failure with a sentence about it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
