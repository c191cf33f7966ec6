import MVI

/// A finished job. A class, since it is handed on several times.
final class JobResult: Sendable {
    let job: any QueueJob
    /// The store that it was about; nil if it was about none that is in memory.
    let store: SessionStore?
    let intentID: IntentID
    /// What running a handler led to; of a job for which none was run only the outcome.
    let turn: TurnResult
    /// Whether there is something to commit.
    let isKept: Bool
    /// The store's version and view state after it.
    let state: StateSnapshot
    /// Whether other writers know the store: it was not made by the batch.
    let isOfKeptStore: Bool
    /// Whether it is the turn of a failure of the result before it.
    let followsPrevious: Bool
    let isBootstrap: Bool

    /// The result of a turn.
    init(
        _ job: any QueueJob, on store: SessionStore?, _ intentID: IntentID, _ turn: TurnResult, isKept: Bool,
        state: StateSnapshot, isOfKeptStore: Bool = false, followsPrevious: Bool = false, isBootstrap: Bool = false
    ) {
        (self.job, self.store, self.intentID, self.turn) = (job, store, intentID, turn)
        (self.isKept, self.state, self.isOfKeptStore) = (isKept, state, isOfKeptStore)
        (self.followsPrevious, self.isBootstrap) = (followsPrevious, isBootstrap)
    }

    /// The result of a job for which no handler was run.
    init(_ job: any QueueJob, _ outcome: TurnOutcome, isKept: Bool) {
        (self.job, turn, self.isKept) = (job, TurnResult(outcome), isKept)
        (store, intentID, state) = (nil, .bootstrap, StateSnapshot(version: 0, view: []))
        (isOfKeptStore, followsPrevious, isBootstrap) = (false, false, false)
    }

    var outcome: TurnOutcome { turn.outcome }

    /// What the job takes along when it runs again.
    var progress: TurnProgress {
        TurnProgress(inputs: turn.inputs, judged: turn.judged, wasOnKeptStore: isOfKeptStore)
    }

    /// Counts a permanent turn.
    func measure() {
        guard isKept, case .ran = outcome, let store else { return }
        store.scope.environment.meter?.turnCommitted(isBootstrap ? .bootstrap : job.kind)
    }

    /// Tells observers and the log.
    func tell() {
        turn.observe?()
        if let failure = outcome.reported { store?.scope.report(failure) }
    }
}

/// What a job that runs again takes along from its last run.
struct TurnProgress: Sendable {
    /// Time and chance as the turn got them; nil if it asked for none.
    var inputs: TurnInputs?
    /// The intent as interceptors left it; nil if there are none.
    var judged: RunTurn?
    /// Whether it ran on a store that other writers know.
    var wasOnKeptStore = false

    init(inputs: TurnInputs?, judged: RunTurn?, wasOnKeptStore: Bool = false) {
        (self.inputs, self.judged, self.wasOnKeptStore) = (inputs, judged, wasOnKeptStore)
    }
}
