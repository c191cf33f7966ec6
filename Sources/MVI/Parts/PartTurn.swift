/// A turn as code sees it that knows one part only: the part's state, its messages, and its work.
///
/// All that is done through it belongs to the turn that it came from. It is handed over `inout` and cannot be copied, so
/// it does not outlive that.
public struct PartTurn<P: Part>: ~Copyable {
    let turn: any PartTurnHolder<P>

    /// The part's state, with every message dispatched so far in it. The last one, if it is gone.
    public var state: P { turn.state }

    /// The intent that led to this turn.
    public var intentID: IntentID { turn.intentID }

    /// The time on the wall clock, as `Turn.now` has it.
    public var now: Timestamp { turn.now }

    /// A new UUID, the next one of the turn, as `Turn.uuid` makes it.
    public mutating func uuid() -> String { turn.uuid() }

    /// Says what happened to the part. When this returns, `state` is the new state.
    ///
    /// If the part has left its list or is nil, nothing happens, and the store's diagnostics count it.
    public mutating func dispatch(_ message: P.Message) { turn.dispatch(message) }
}

/// Holds a turn while code runs that knows one of its parts only.
protocol PartTurnHolder<P>: AnyObject {
    associatedtype P: Part

    var state: P { get }
    var intentID: IntentID { get }
    var now: Timestamp { get }
    func uuid() -> String
    func dispatch(_ message: P.Message)
    func part<Inner: Part, E: Error>(
        at place: PartPlace<P, P.Message, Inner>, _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) -> Bool
    func launch(
        _ id: WorkID?, _ policy: WorkPolicy, isCounted: Bool, _ operation: @escaping PartTurn<P>.Operation,
        as effect: (WorkRequest) -> Effect)
    func cancel(_ id: WorkID)
    func isRunning(_ id: WorkID) -> Bool
}
