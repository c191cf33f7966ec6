extension Turn {
    /// Runs code of one part in this turn.
    ///
    /// ```swift
    /// turn.part(\.fee, Message.fee) { fee in fee.dispatch(.started) }
    /// ```
    ///
    /// - Parameters:
    ///   - state: the part's place in the state. A part with another ``Part/partID`` there is another part with its own
    ///     work.
    ///   - message: wraps a message of the part as the feature's: the name of the case, or a closure.
    ///   - body: runs at once. Its errors are rethrown.
    public mutating func part<P: Part, E: Error>(
        _ state: any KeyPath<F.State, P> & Sendable, _ message: @escaping @Sendable (P.Message) -> F.Message,
        _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) {
        _ = try part(at: PartPlace(state, in: current, message), body)
    }

    /// Runs code of an optional part in this turn. If it is nil, nothing happens, and the store's diagnostics count it.
    /// Its work ends with the turn that sets it to nil.
    ///
    /// A case of an enum can be such a part through a property that returns its value, and nil in the other cases.
    ///
    /// - Returns: true if the part exists.
    @discardableResult
    public mutating func part<P: Part, E: Error>(
        _ state: any KeyPath<F.State, P?> & Sendable, _ message: @escaping @Sendable (P.Message) -> F.Message,
        _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) -> Bool {
        try part(at: PartPlace(state, in: current, message), body)
    }

    /// Runs code of one part of a list in this turn. If no part has that id, nothing happens, and the store's
    /// diagnostics count it.
    ///
    /// ```swift
    /// turn.part(id, in: \.rows, Message.row) { row in row.dispatch(.renamed("b")) }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the id of the part.
    ///   - list: the list's place in the state.
    ///   - message: wraps a message of the part as the feature's: the name of the case, or a closure.
    ///   - body: runs at once. Its errors are rethrown.
    /// - Returns: true if the part exists.
    @discardableResult
    public mutating func part<P: Part & Identifiable, E: Error>(
        _ id: P.ID, in list: any KeyPath<F.State, Parts<P>> & Sendable,
        _ message: @escaping @Sendable (P.ID, P.Message) -> F.Message, _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) -> Bool {
        try part(at: PartPlace(id, in: list, message), body)
    }

    mutating func part<P: Part, E: Error>(
        at place: PartPlace<F.State, F.Message, P>, _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) -> Bool {
        guard let state = place.read(current) else {
            noteGonePart()
            return false
        }
        let held = HeldTurn(self, state, at: place)
        var part = PartTurn(turn: held)
        do throws(E) {
            try body(&part)
        } catch {
            self = held.release()
            throw error
        }
        self = held.release()
        return true
    }

    /// Counts the use of a part that is gone.
    func noteGonePart() { context.host.noteGonePart() }
}
