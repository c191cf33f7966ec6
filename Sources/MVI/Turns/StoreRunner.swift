/// The operations of a store's runner that do not depend on its feature; see `TurnRunner`.
@usableFromInline
package protocol StoreRunner: AnyObject, Sendable {
    /// The turn of `bootstrap`.
    func bootstrap(_ reason: StartReason, _ context: TurnContext) -> TurnResult
    /// The turn of `signedIn`.
    func signedIn(_ principal: Principal, _ context: TurnContext) -> TurnResult
    /// The turn of `onFailure`. `origin` is that of the launched work which failed; nil if none did.
    func onFailure(_ failure: Failure, of origin: WorkOrigin?, _ context: TurnContext) -> TurnResult
    /// Takes the batch's working copy for the head.
    func commit()
    /// Forgets the batch's working copy.
    func rollBack()
    /// Remembers the working copy, unless a chain of intents runs already.
    func beginChain()
    /// Ends a chain: keeps what it did, or puts the working copy back.
    func endChain(isKept: Bool)
    /// Tells observers what is no part of a turn.
    func observe(failure: Failure)
    func observeEnd()
    /// Returns when every observation so far was handed to the observers.
    func observersCaughtUp() async
    /// The number of pieces of work that wait for a state.
    var waiterCount: Int { get }
    func addObserverCounts(to diagnostics: inout StoreDiagnostics)
}

/// The operations of the engine that a turn uses for its store.
@usableFromInline
package protocol TurnHost: AnyObject, Sendable {
    /// Throws if the store would have too much work with these effects, after those of the batch's earlier turns.
    func check(_ effects: [Effect], after earlier: [Effect]) throws
    /// Returns true if work of that id would run or wait after the effects of the batch's earlier turns and those of a turn.
    func isRunning(_ id: WorkID, after earlier: [Effect], _ effects: [Effect]) -> Bool
    /// The parts that have work, after those effects.
    func parts(after effects: [Effect]) -> Set<PartName>
    /// Throws if the session would have too many reminders after these changes of the store's.
    func check(_ reminders: [EncodedReminder]) throws
    /// The runner of another store of the session. Called while a turn runs, by the thread that runs it.
    ///
    /// Throws `StoreIsAbsent` if the store has to be made, loaded or started first; a `Refusal` if the principal may not
    /// use it; a `StoreError` if there is none to be had.
    func runner(of instance: String, for principal: Principal?) throws -> any StoreRunner
    /// A turn took longer than the environment's `slowTurn`.
    func tookLong(_ nanoseconds: UInt64, _ intentID: IntentID)
    /// A turn did something for a part that has left its list.
    func noteGonePart()
}

/// The operations of the engine that launched work uses for its store.
package protocol WorkHost: AnyObject, Sendable {
    var environment: StoreEnvironment { get }
    /// Runs a step of the work as a turn; returns what it threw, nil when it is committed or dropped.
    func step(of work: WorkContext, _ turn: @escaping RunTurn) async -> (any Error)?
    /// Returns true if the work runs and was not cancelled. Called under no lock.
    func isLive(_ work: WorkContext) -> Bool
    /// Reports the error of a step whose call cannot throw.
    func failed(_ work: WorkContext, _ error: any Error)
}
