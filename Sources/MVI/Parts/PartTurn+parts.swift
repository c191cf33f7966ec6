extension PartTurn {
    /// Runs code of a part of this part, as `Turn.part` does with one of the feature. Its work ends with either part.
    ///
    /// ```swift
    /// editor.part(\.title, Message.title) { title in title.dispatch(.typed("a")) }
    /// ```
    public mutating func part<Inner: Part, E: Error>(
        _ state: any KeyPath<P, Inner> & Sendable, _ message: @escaping @Sendable (Inner.Message) -> P.Message,
        _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) {
        _ = try turn.part(at: PartPlace(state, in: self.state, message), body)
    }

    /// Runs code of an optional part of this part.
    ///
    /// - Returns: true if the part exists.
    @discardableResult
    public mutating func part<Inner: Part, E: Error>(
        _ state: any KeyPath<P, Inner?> & Sendable, _ message: @escaping @Sendable (Inner.Message) -> P.Message,
        _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) -> Bool {
        try turn.part(at: PartPlace(state, in: self.state, message), body)
    }

    /// Runs code of a part of a list in this part.
    ///
    /// - Returns: true if the part exists.
    @discardableResult
    public mutating func part<Inner: Part & Identifiable, E: Error>(
        _ id: Inner.ID, in list: any KeyPath<P, Parts<Inner>> & Sendable,
        _ message: @escaping @Sendable (Inner.ID, Inner.Message) -> P.Message,
        _ body: (inout PartTurn<Inner>) throws(E) -> Void
    ) throws(E) -> Bool {
        try turn.part(at: PartPlace(id, in: list, message), body)
    }
}
