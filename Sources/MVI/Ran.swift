/// A job after it ran: what to commit, and whom to tell. A class, since it is handed on several times.
@usableFromInline
final class Ran<F: Feature>: Sendable {
    @usableFromInline let job: Job<F>
    @usableFromInline let intentID: IntentID
    /// Nil if there is nothing to commit: refused, thrown or dropped.
    @usableFromInline let record: TurnRecord<F>?
    @usableFromInline let effects: [Effect<F>]
    /// Nil if all went well.
    @usableFromInline let trouble: Trouble<F>?

    /// A job that led to nothing.
    @inlinable
    init(_ job: Job<F>, _ intentID: IntentID, _ trouble: Trouble<F>? = nil) {
        self.job = job
        self.intentID = intentID
        record = nil
        effects = []
        self.trouble = trouble
    }

    /// What another job led to, as that of `job`.
    init(of other: Ran, as job: Job<F>) {
        self.job = job
        intentID = other.intentID
        record = other.record
        effects = other.effects
        trouble = other.trouble
    }

    @inlinable
    init(_ job: Job<F>, _ record: TurnRecord<F>, _ effects: [Effect<F>]) {
        self.job = job
        intentID = record.intentID
        self.record = record
        self.effects = effects
        trouble = nil
    }
}

/// Why a job led to nothing. A class, so that a turn that goes well carries one empty reference.
@usableFromInline
final class Trouble<F: Feature>: Sendable {
    /// Why the intent was not run.
    @usableFromInline let rejection: IntentRejection?
    /// What a step threw.
    @usableFromInline let stepError: (any Error)?
    /// A throw to report.
    @usableFromInline let failure: Failure?
    /// Whether `onFailure` is to be called with it, in a turn of its own.
    @usableFromInline let isHandedToFeature: Bool
    /// What observers are told.
    let events: [Observation<F>.Event]

    @usableFromInline
    init(
        rejection: IntentRejection? = nil, stepError: (any Error)? = nil, failure: Failure? = nil,
        isHandedToFeature: Bool = false, events: [Observation<F>.Event] = []
    ) {
        self.rejection = rejection
        self.stepError = stepError
        self.failure = failure
        self.isHandedToFeature = isHandedToFeature
        self.events = events
    }
}

/// What earlier turns of a batch ask for. A class, so that a head without any carries one empty reference.
@usableFromInline
final class EarlierTurns<F: Feature>: Sendable {
    let effects: [Effect<F>]
    /// Ids of the work that they cancel: its steps must not be taken any more.
    let cancelled: Set<WorkID>

    init(effects: [Effect<F>]) {
        self.effects = effects
        cancelled = Set(effects.compactMap { $0.cancelledID })
    }
}

/// A batch's own head, which nobody outside sees before the commit.
@usableFromInline
struct WorkingHead<F: Feature> {
    @usableFromInline var state: F.State
    @usableFromInline var view: F.ViewState
    /// Changes of the view state by earlier turns of the batch.
    @usableFromInline var changes = 0
    /// Nil if none of them asks for work or cancels it.
    @usableFromInline var earlier: EarlierTurns<F>?

    @inlinable
    init(state: F.State, view: F.ViewState) {
        self.state = state
        self.view = view
    }

    @usableFromInline var cancelled: Set<WorkID> { earlier?.cancelled ?? [] }

    @usableFromInline
    mutating func note(_ effects: [Effect<F>]) {
        earlier = EarlierTurns(effects: (earlier?.effects ?? []) + effects)
    }
}
