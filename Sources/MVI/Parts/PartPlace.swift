/// The place of a part in the state of a feature or a surrounding part: the way to read it and to wrap its messages.
struct PartPlace<State: Sendable, Message: Sendable, P: Part>: Sendable {
    /// Returns the part, or nil if it is gone.
    let read: @Sendable (State) -> P?
    let message: @Sendable (P.Message) -> Message
    let name: PartName

    /// Creates the place of a part at a key path of a state. The present part determines the id.
    init(
        _ path: any KeyPath<State, P> & Sendable, in state: State,
        _ message: @escaping @Sendable (P.Message) -> Message
    ) {
        self.init(path, state, isOptional: false, message) { $0[keyPath: path] }
    }

    /// Creates the place of an optional part.
    init(
        _ path: any KeyPath<State, P?> & Sendable, in state: State,
        _ message: @escaping @Sendable (P.Message) -> Message
    ) {
        self.init(path, state, isOptional: true, message) { $0[keyPath: path] }
    }

    private init(
        _ path: any Hashable & Sendable, _ state: State, isOptional: Bool,
        _ message: @escaping @Sendable (P.Message) -> Message, _ find: @escaping @Sendable (State) -> P?
    ) {
        let id = find(state)?.partID
        self.message = message
        read = { state in find(state).flatMap { $0.partID.hashable == id.hashable ? $0 : nil } }
        name = PartName(path, id, canLeave: isOptional || id != nil) { (state: State) in
            find(state).map { [$0.partID.hashable] } ?? []
        }
    }

    /// Creates the place of a part in a list.
    init(
        _ id: P.ID, in list: any KeyPath<State, Parts<P>> & Sendable,
        _ message: @escaping @Sendable (P.ID, P.Message) -> Message
    ) where P: Identifiable, P.ID: Sendable {
        self.message = { message(id, $0) }
        read = { $0[keyPath: list][id: id] }
        name = PartName(list, id, canLeave: true) { (state: State) in
            Set(state[keyPath: list].lazy.map { AnyHashable($0.id) })
        }
    }

    /// Creates the place of a part inside the part at `place`.
    init<Outer: Part>(
        _ place: PartPlace<Outer, Outer.Message, P>, within outer: PartPlace<State, Message, Outer>
    ) {
        read = { outer.read($0).flatMap(place.read) }
        message = { outer.message(place.message($0)) }
        name = PartName(place.name, within: outer.name, read: outer.read)
    }
}
