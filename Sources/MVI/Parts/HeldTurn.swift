/// A turn that is lent to code of one part.
final class HeldTurn<F: Feature, P: Part>: PartTurnHolder {
    /// Nil while it is lent to code of an inner part, and after it was given back.
    private var turn: Turn<F>?
    private let place: PartPlace<F.State, F.Message, P>
    private(set) var state: P
    let intentID: IntentID

    init(_ turn: consuming Turn<F>, _ state: P, at place: PartPlace<F.State, F.Message, P>) {
        intentID = turn.intentID
        self.turn = consume turn
        self.state = state
        self.place = place
    }

    /// Returns the turn. Called once.
    func release() -> Turn<F> {
        guard let turn = turn.take() else { preconditionFailure("cannot give a turn back twice") }
        return turn
    }

    var now: Timestamp { with { turn in turn.now } }

    func uuid() -> String { with { turn in turn.uuid() } }

    func dispatch(_ message: P.Message) {
        let message = place.message(message)
        let (last, read) = (state, place.read)
        state = with { turn in
            guard read(turn.state) != nil else {
                turn.noteGonePart()
                return last
            }
            turn.dispatch(message)
            return read(turn.state) ?? last
        }
    }

    func part<Inner: Part, E: Error>(
        at inner: PartPlace<P, P.Message, Inner>, _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) -> Bool {
        let (last, read) = (state, place.read)
        let place = PartPlace(inner, within: place)
        return try with { (turn) throws(E) in
            defer { state = read(turn.state) ?? last }
            return try turn.part(at: place, body)
        }
    }

    func launch(
        _ id: WorkID?, _ policy: WorkPolicy, isCounted: Bool, _ operation: @escaping PartTurn<P>.Operation,
        as effect: (WorkRequest) -> Effect
    ) {
        let id = id.map { scoped($0) }
        with { [place] turn in
            if place.name.canLeave { turn.hasPartWork = true }
            let request = turn.request(id, policy, isCounted: isCounted, of: place.name) { work in
                try await operation(PartWork(work, at: place))
            }
            turn.effects.append(effect(request))
        }
    }

    func cancel(_ id: WorkID) {
        let id = scoped(id)
        with { turn in turn.cancel(id) }
    }

    func isRunning(_ id: WorkID) -> Bool {
        let id = scoped(id)
        return with { turn in turn.isRunning(id) }
    }

    private func scoped(_ id: WorkID) -> WorkID { WorkID(id.name, in: place.name) }

    /// Runs a body on the turn. A `PartTurn` cannot be used while its turn is lent to an inner part.
    private func with<R, E: Error>(_ body: (inout Turn<F>) throws(E) -> R) throws(E) -> R {
        guard var held = turn.take() else { preconditionFailure("cannot use a part's turn after its end") }
        do throws(E) {
            let result = try body(&held)
            turn = consume held
            return result
        } catch {
            turn = consume held
            throw error
        }
    }
}
