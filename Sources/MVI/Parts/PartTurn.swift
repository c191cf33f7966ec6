/// A turn for code that depends on one part only: the part's state, its messages and its work.
///
/// Everything done through it belongs to the underlying turn. It is passed `inout` and is not copyable, so it cannot
/// outlive that turn.
public struct PartTurn<P: Part>: ~Copyable {
    let turn: any PartTurnHolder<P>

    /// The part's state with all messages dispatched so far; the last state if the part is gone.
    public var state: P { turn.state }

    /// The id of the intent that led to this turn.
    public var intentID: IntentID { turn.intentID }

    /// The wall-clock time, as `Turn.now`.
    public var now: Timestamp { turn.now }

    /// Returns a new UUID, as `Turn.uuid` does.
    public mutating func uuid() -> String { turn.uuid() }

    /// Dispatches a message of the part. On return, `state` is the new state.
    ///
    /// If the part has left its list or is nil, the message is dropped and counted in the store's diagnostics.
    public mutating func dispatch(_ message: P.Message) { turn.dispatch(message) }
}

/// Holds a turn while code runs that depends on one part only.
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
