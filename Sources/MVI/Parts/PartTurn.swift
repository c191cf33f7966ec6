/// A turn as code sees it that knows one part only: the part's state, its messages, and its work.
///
/// All that is done through it belongs to the turn that it came from. It is handed over `inout` and cannot be copied, so
/// it does not outlive that.
public struct PartTurn<P: Part>: ~Copyable {
    /// What launched work of the part is.
    public typealias Operation = @Sendable (PartWork<P>) async throws -> Void

    let turn: any PartTurnHolder<P>

    /// The part's state, with every message dispatched so far in it. The last one, if it is gone.
    public var state: P { turn.state }

    /// The intent that led to this turn.
    public var intentID: IntentID { turn.intentID }

    /// Says what happened to the part. When this returns, `state` is the new state.
    ///
    /// If the part has left its list or is nil, nothing happens, and the store's diagnostics count it.
    public mutating func dispatch(_ message: P.Message) { turn.dispatch(message) }

    /// Starts `operation` once this turn is committed, as `Turn.launch` does.
    ///
    /// - Parameters:
    ///   - id: names the work inside the part. Parts at other places, and other parts of a list, have ids of their own.
    ///   - policy: what happens when work of that id is running already.
    ///   - isCounted: whether the intent is settled only after this work.
    ///   - operation: the work.
    public mutating func launch(
        id: WorkID? = nil, policy: WorkPolicy = .parallel, isCounted: Bool = true, _ operation: @escaping Operation
    ) {
        turn.launch(id, policy, isCounted, operation)
    }

    /// Runs `operation` when `interval` has passed without another call for the same id of the part.
    public mutating func debounce(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious) { work in
            try await work.sleep(for: interval)
            try await operation(work)
        }
    }

    /// Cancels the part's running and waiting work of that id once this turn is committed.
    public mutating func cancel(_ id: WorkID) { turn.cancel(id) }

    /// Whether the part's work of that id would run or wait, as `Turn.isRunning` says.
    public func isRunning(_ id: WorkID) -> Bool { turn.isRunning(id) }
}

/// Holds a turn while code runs that knows one of its parts only.
protocol PartTurnHolder<P>: AnyObject {
    associatedtype P: Part

    var state: P { get }
    var intentID: IntentID { get }
    func dispatch(_ message: P.Message)
    func part<Inner: Part, E: Error>(
        at place: PartPlace<P, P.Message, Inner>, _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) -> Bool
    func launch(_ id: WorkID?, _ policy: WorkPolicy, _ isCounted: Bool, _ operation: @escaping PartTurn<P>.Operation)
    func cancel(_ id: WorkID)
    func isRunning(_ id: WorkID) -> Bool
}
