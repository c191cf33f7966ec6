/// A job after it ran: what to commit, and whom to tell.
@usableFromInline
struct Ran<F: Feature>: Sendable {
    @usableFromInline let job: Job<F>
    @usableFromInline let intentID: IntentID
    /// Nil if there is nothing to commit: refused, thrown or dropped.
    @usableFromInline var record: TurnRecord<F>?
    @usableFromInline var effects: [Effect<F>] = []
    /// Why the intent led to nothing.
    @usableFromInline var rejection: IntentRejection?
    /// What a step threw.
    @usableFromInline var stepError: (any Error)?
    /// A throw to report.
    @usableFromInline var failure: Failure?
    /// Whether `onFailure` is to be called with it, in a turn of its own.
    @usableFromInline var isHandedToFeature = false
    /// What observers are told if there is no record.
    @usableFromInline var events: [Observation<F>.Event] = []

    @inlinable
    init(_ job: Job<F>, _ intentID: IntentID) {
        self.job = job
        self.intentID = intentID
    }
}

/// A batch's own head, which nobody outside sees before the commit.
@usableFromInline
struct WorkingHead<F: Feature> {
    @usableFromInline var state: F.State
    @usableFromInline var view: F.ViewState
    /// Changes of the view state by earlier turns of the batch.
    @usableFromInline var changes = 0
    /// Ids of the work that earlier turns of the batch cancel: its steps must not be taken any more.
    @usableFromInline var cancelled: Set<WorkID> = []

    @inlinable
    init(state: F.State, view: F.ViewState) {
        self.state = state
        self.view = view
    }

    @usableFromInline
    mutating func noteCancelled(_ effects: [Effect<F>]) {
        for effect in effects {
            if let id = effect.cancelledID { cancelled.insert(id) }
        }
    }
}
