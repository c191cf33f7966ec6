/// What hardly any turn asks for. A class that is made when it is needed first, so that other turns have one empty
/// reference to pass on.
@usableFromInline
package final class RareRequests<F: Feature> {
    @usableFromInline package var reminders: [ReminderRequest<F>] = []
    @usableFromInline var sends: [SiblingIntent] = []
    /// The first store that the turn needs and that is not there yet.
    @usableFromInline var missing: String?
    /// Whether the turn launches work of parts that may leave.
    @usableFromInline var hasPartWork = false
    /// What its result has of observers and interceptors.
    @usableFromInline var observe: (@Sendable () -> Void)?
    @usableFromInline var judged: RunTurn?
    var now: Timestamp?
    var uuids: [String]
    /// How many UUIDs the turn has got.
    var uuidCount = 0

    /// - Parameter inputs: what the turn got of time and chance when it ran before.
    @usableFromInline
    init(_ inputs: TurnInputs?) { (now, uuids) = (inputs?.now, inputs?.uuids ?? []) }

    /// What the turn got of time and chance; nil if nothing.
    @usableFromInline var inputs: TurnInputs? { now == nil && uuids.isEmpty ? nil : TurnInputs(now: now, uuids: uuids) }
}

extension Turn {
    /// The rare requests, which there are from now on.
    @usableFromInline
    mutating func makeRare() -> RareRequests<F> {
        if let rare { return rare }
        let made = RareRequests<F>(context.inputs)
        rare = made
        return made
    }
}
