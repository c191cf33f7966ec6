import MVI
import Testing

/// Assertions of messages by their case, for values that a test cannot know in advance.
extension TestStore {
    /// Asserts that the next message has a given case with one associated value.
    ///
    /// ```swift
    /// await store.receive(Counter.Message.loaded) { state, count in state.count = count }
    /// ```
    ///
    /// - Parameters:
    ///   - make: the case, as the enum names it.
    ///   - sourceLocation: the location that a failure is reported at.
    ///   - change: changes the state, given the state before the message and the associated value; nil if it does not
    ///     change.
    public func receive<Value>(
        _ make: @escaping @Sendable (Value) -> F.Message, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State, Value) throws -> Void)? = nil
    ) async {
        guard let (found, values) = await take({ payload(of: $0, make) }, sourceLocation)
        else { return }
        check(change.map { change in { try change(&$0, values) } }, found, sourceLocation)
    }

    /// Asserts a message of a case with two associated values.
    public func receive<First, Second>(
        _ make: @escaping @Sendable (First, Second) -> F.Message, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State, First, Second) throws -> Void)? = nil
    ) async {
        guard let (found, values) = await take({ payload(of: $0, make) }, sourceLocation)
        else { return }
        check(change.map { change in { try change(&$0, values.0, values.1) } }, found, sourceLocation)
    }

    /// Asserts a message of a case with three associated values.
    public func receive<First, Second, Third>(
        _ make: @escaping @Sendable (First, Second, Third) -> F.Message,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State, First, Second, Third) throws -> Void)? = nil
    ) async {
        guard let (found, values) = await take({ payload(of: $0, make) }, sourceLocation)
        else { return }
        check(change.map { change in { try change(&$0, values.0, values.1, values.2) } }, found, sourceLocation)
    }

    /// Asserts a message of a case with four associated values.
    public func receive<First, Second, Third, Fourth>(
        _ make: @escaping @Sendable (First, Second, Third, Fourth) -> F.Message,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State, First, Second, Third, Fourth) throws -> Void)? = nil
    ) async {
        guard let (found, values) = await take({ payload(of: $0, make) }, sourceLocation)
        else { return }
        check(
            change.map { change in { try change(&$0, values.0, values.1, values.2, values.3) } }, found, sourceLocation)
    }

    /// Removes and returns the next message with its associated values if it has the case; otherwise fails the test.
    ///
    /// - Parameter values: returns the associated values of a message of the case; nil for other messages.
    private func take<Values>(
        _ values: @escaping @Sendable (F.Message) -> Values?, _ sourceLocation: SourceLocation
    ) async -> (Inbox<F>.Reduced, Values)? {
        let expectation = "a message of a case with \(Values.self)"
        let found = await take(expectation, where: { values($0) != nil }, sourceLocation) {
            difference(expected: expectation, actual: describe($0))
        }
        return found.flatMap { found in values(found.message).map { (found, $0) } }
    }
}
