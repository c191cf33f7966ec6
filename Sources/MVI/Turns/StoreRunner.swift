/// A store's runner as the engine uses it, independent of the feature's type; see `TurnRunner`.
@usableFromInline
package protocol StoreRunner: AnyObject, Sendable {
    /// Runs the turn of `bootstrap`.
    func bootstrap(_ reason: StartReason, _ context: TurnContext) -> TurnResult
    /// Runs the turn of `signedIn`.
    func signedIn(_ principal: Principal, _ context: TurnContext) -> TurnResult
    /// Runs the turn of `onFailure`. `origin` is that of the failed launched work; nil for other failures.
    func onFailure(_ failure: Failure, of origin: WorkOrigin?, _ context: TurnContext) -> TurnResult
    /// Discards the batch's working copy.
    func rollBack()
    /// Saves the working copy for the running chain of intents, unless that has saved it.
    func beginChain(isFirst: Bool)
    /// Ends a chain: keeps its changes, or restores the working copy.
    func endChain(isKept: Bool)
    /// Notifies observers of a failure outside of a turn.
    func observe(failure: Failure)
    func observeEnd()
    /// Returns when all observations so far have reached the observers.
    func observersCaughtUp() async
    /// Passes the committed state to work that waits for one: what was canceled ends its waits. Called without locks held.
    func offerState()
    /// The number of pieces of launched work that wait for a state.
    var waiterCount: Int { get }
    func addObserverCounts(to diagnostics: inout StoreDiagnostics)
}

/// The engine as a running turn uses it, for the turn's store.
@usableFromInline
package protocol TurnHost: AnyObject, Sendable {
    /// Throws if the store would have too much work after these effects and those of the batch's earlier turns.
    func check(_ effects: [Effect], after earlier: [Effect]) throws
    /// Returns true if work of the id would run or wait after the effects of the batch's earlier turns and of a turn.
    func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool
    /// Returns the parts that have work after these effects.
    func parts(after effects: [Effect]) -> Set<PartName>
    /// Throws if the session would have too many reminders after these changes.
    func check(_ reminders: [EncodedReminder]) throws
    /// Returns the runner of another store of the session. Called on the thread of a running turn.
    ///
    /// Throws `StoreIsAbsent` if the store must be created, loaded or started first, a `Refusal` if the principal may
    /// not use it, and a `StoreError` if it is not available.
    ///
    /// - Parameter isAtOnce: false to throw `StoreIsAbsent` also for a store whose observations have no result yet.
    func runner(of instance: String, for principal: Principal?, isAtOnce: Bool) throws -> any StoreRunner
    /// Returns the number of the last turn of another store of the session, including those of the running batch.
    func number(of instance: String) -> UInt64
    /// Returns the clients that look at the turn's store.
    func viewers(of instance: String) -> KnownViewers
    /// True if the store's session is recorded.
    var isRecorded: Bool { get }
    /// True if clients share the store.
    var isShared: Bool { get }
    /// Reports a turn that took longer than the environment's `slowTurn`.
    func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID)
    /// Counts a use of a part that has left its list.
    func noteGonePart()
}

/// The engine as launched work uses it, for the work's store.
package protocol WorkHost: AnyObject, Sendable {
    var environment: StoreEnvironment { get }
    /// Runs a step of the work as a turn. Returns the error that it threw; nil if it was committed or dropped.
    func step(of work: WorkContext, _ turn: @escaping RunTurn) async -> (any Error)?
    /// Returns true if the work is running and was not canceled. Called without locks held.
    func isLive(_ work: WorkContext) -> Bool
    /// Reports the error of a step whose caller cannot receive it.
    func failed(_ work: WorkContext, _ error: any Error)
    /// Notes that an observation has handled its first element.
    func noteFirstResult(of work: WorkContext)
}
