/// The connection of launched work to its store.
@usableFromInline
package struct WorkContext: Sendable {
    package let host: any WorkHost
    package let token: WorkToken
    package let origin: WorkOrigin

    package init(host: any WorkHost, token: WorkToken, origin: WorkOrigin) {
        (self.host, self.token, self.origin) = (host, token, origin)
    }

    package func sleep(for duration: Duration) async throws { try await host.environment.clock.sleep(for: duration) }

    func noteFirstResult() { host.noteFirstResult(of: self) }
}

/// The id of a piece of launched work inside its store.
@usableFromInline
package struct WorkToken: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) { self.number = number }
}

/// The context of launched work. Each step is a turn of its own and returns after the commit.
///
/// It can be used from any task. Once the work is canceled or its store disposed, steps are dropped without an error
/// and return at once; see `Task.isCancelled`.
public struct Work<F: Feature>: Sendable {
    let runner: TurnRunner<F>
    let context: WorkContext

    /// The id of the intent that launched this work.
    public var intentID: IntentID { context.origin.intentID }

    /// The intent's sender when the intent was accepted; nil if the sender was anonymous.
    public var principal: Principal? { context.origin.principal }

    /// The session that the store belongs to.
    public var session: SessionInfo { runner.environment.session }

    /// The present time on the wall clock.
    public var now: Timestamp { runner.environment.now() }

    /// The store's present state, which may change at each `await`.
    public var state: F.State { runner.state }

    /// Dispatches a message in one step.
    public func dispatch(_ message: F.Message) async {
        await turn { $0.dispatch(message) }
    }

    /// Publishes a label in one step.
    public func publish(_ label: F.Label) async {
        await turn { $0.publish(label) }
    }

    /// Performs an action in one step.
    public func send(_ action: F.Action) async throws {
        try await turn { (turn: inout Turn<F>) throws in turn.send(action) }
    }

    /// Runs a body as one step, which is committed whole or not at all.
    public func turn(_ body: @escaping @Sendable (inout Turn<F>) -> Void) async {
        // The body cannot throw, but an action that it sends can. The error is reported here.
        if let error = await step(body) {
            context.host.failed(context, error)
        }
    }

    /// Runs a body as one step, which is committed whole or not at all. An error undoes the step and is rethrown.
    public func turn(_ body: @escaping @Sendable (inout Turn<F>) throws -> Void) async throws {
        if let error = await step(body) { throw error }
    }

    /// Waits on the store's clock, which tests can control.
    public func sleep(for duration: Duration) async throws {
        try await context.sleep(for: duration)
    }

    func noteFirstResult() { context.noteFirstResult() }

    /// Runs a step as a turn. Returns the error that it threw; nil if it was committed or dropped.
    private func step(_ body: @escaping @Sendable (inout Turn<F>) throws -> Void) async -> (any Error)? {
        await context.host.step(of: context) { [runner, origin = context.origin] _, turn in
            runner.run(turn, stage: nil, origin: origin, body)
        }
    }
}
