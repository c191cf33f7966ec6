/// A turn that was lent to code of one part.
final class HeldTurn<F: Feature, P: Part>: PartTurnHolder {
    /// Nil once it was given back.
    private var turn: Turn<F>?
    private let place: PartPlace<F, P>
    private(set) var state: P
    let intentID: IntentID

    init(_ turn: consuming Turn<F>, _ state: P, at place: PartPlace<F, P>) {
        intentID = turn.intentID
        self.turn = consume turn
        self.state = state
        self.place = place
    }

    /// Gives the turn back. Called once.
    func release() -> Turn<F> {
        guard let turn = turn.take() else { preconditionFailure("cannot give a turn back twice") }
        return turn
    }

    func dispatch(_ message: P.Message) {
        let message = place.message(message)
        let read = place.read
        state = with(state) { turn, last in
            guard read(turn.state) != nil else {
                turn.noteGonePart()
                return last
            }
            turn.dispatch(message)
            return read(turn.state) ?? last
        }
    }

    func launch(_ id: WorkID?, _ policy: WorkPolicy, _ isCounted: Bool, _ operation: @escaping PartTurn<P>.Operation) {
        let id = id.map { scoped($0) }
        with(()) { [place] turn, _ in
            turn.launch(id: id, policy: policy, isCounted: isCounted, of: place.name) { work in
                try await operation(PartWork(work, at: place))
            }
        }
    }

    func cancel(_ id: WorkID) {
        let id = scoped(id)
        with(()) { turn, _ in turn.cancel(id) }
    }

    func isRunning(_ id: WorkID) -> Bool {
        let id = scoped(id)
        return with(false) { turn, _ in turn.isRunning(id) }
    }

    private func scoped(_ id: WorkID) -> WorkID { WorkID(id.name, in: place.name) }

    /// Runs a body on the turn; returns `otherwise` when that was given back.
    private func with<R>(_ otherwise: R, _ body: (inout Turn<F>, R) -> R) -> R {
        guard var held = turn.take() else { return otherwise }
        let result = body(&held, otherwise)
        turn = consume held
        return result
    }
}
