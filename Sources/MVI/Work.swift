/// What launched work holds: each step that it takes is a turn of its own, and returns when that is committed.
///
/// It may be used from any task. Once the work is cancelled or its store disposed, steps are dropped without an error
/// and return at once; `Task.isCancelled` tells.
public struct Work<F: Feature>: Sendable {
    let store: Store<F>
    let token: WorkToken
    /// The intent that launched this work.
    public let intentID: IntentID

    /// The store's state now, not when the work was launched: after an `await` it may differ.
    public var state: F.State { store.state }

    /// A step with one message.
    public func dispatch(_ message: F.Message) async {
        await turn { $0.dispatch(message) }
    }

    /// A step with one label.
    public func publish(_ label: F.Label) async {
        await turn { $0.publish(label) }
    }

    /// A step with one action.
    public func send(_ action: F.Action) async throws {
        try await turn { (turn: inout Turn<F>) throws in turn.send(action) }
    }

    /// Several things in one step: all of them are kept, or none.
    public func turn(_ body: @escaping @Sendable (inout Turn<F>) -> Void) async {
        // The body cannot throw, but an action that it sends can; nobody else would hear of it.
        if let error = await store.step(token: token, intentID: intentID, body: body) {
            store.workFailed(token, intentID: intentID, error: error)
        }
    }

    /// Several things in one step: all of them are kept, or none. A throw undoes the step and is thrown on.
    public func turn(_ body: @escaping @Sendable (inout Turn<F>) throws -> Void) async throws {
        if let error = await store.step(token: token, intentID: intentID, body: body) { throw error }
    }

    /// Waits on the store's clock, so that a test can move it.
    public func sleep(for duration: Duration) async throws {
        try await store.environment.clock.sleep(for: duration)
    }
}
