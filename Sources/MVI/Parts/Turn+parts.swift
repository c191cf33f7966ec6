extension Turn {
    /// Runs code of one part as part of this turn.
    ///
    /// ```swift
    /// turn.part(\.fee, Message.fee) { fee in fee.dispatch(.started) }
    /// ```
    ///
    /// - Parameters:
    ///   - state: where the part is in the state. Another ``Part/partID`` there is another part, with work of its own.
    ///   - message: what a message of the part is as the feature's: the name of the case, or a closure.
    ///   - body: runs at once. What it throws is thrown on.
    public mutating func part<P: Part, E: Error>(
        _ state: any KeyPath<F.State, P> & Sendable, _ message: @escaping @Sendable (P.Message) -> F.Message,
        _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) {
        _ = try part(at: PartPlace(state, in: current, message), body)
    }

    /// Runs code of a part that the state may be without. If it is nil, nothing happens, and the store's diagnostics count
    /// it. Its work ends with the turn that sets it to nil.
    ///
    /// A case of an enum is such a part by a property that returns its value, and nil in the other cases.
    ///
    /// - Returns: whether there is such a part.
    @discardableResult
    public mutating func part<P: Part, E: Error>(
        _ state: any KeyPath<F.State, P?> & Sendable, _ message: @escaping @Sendable (P.Message) -> F.Message,
        _ body: (inout PartTurn<P>) throws(E) -> Void
    ) throws(E) -> Bool {
        try part(at: PartPlace(state, in: current, message), body)
    }

    /// Runs code of one part of a list as part of this turn. If there is none of that id, nothing happens, and the
    /// store's diagnostics count it.
    ///
    /// ```swift
    /// turn.part(id, in: \.rows, Message.row) { row in row.dispatch(.renamed("b")) }
    /// ```
    ///
    /// - Parameters:
    ///   - id: names the part.
    ///   - list: where the list is in the state.
    ///   - message: what a message of the part is as the feature's: the name of the case, or a closure.
    ///   - body: runs at once. What it throws is thrown on.
    /// - Returns: whether there is such a part.
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

    /// Counts something that was meant for a part that is gone.
    func noteGonePart() { context.host.noteGonePart() }
}
