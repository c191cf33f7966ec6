/// Launched work's way back to its store.
@usableFromInline
package struct WorkContext: Sendable {
    package let host: any WorkHost
    package let token: WorkToken
    package let origin: WorkOrigin

    package init(host: any WorkHost, token: WorkToken, origin: WorkOrigin) {
        (self.host, self.token, self.origin) = (host, token, origin)
    }

    package func sleep(for duration: Duration) async throws { try await host.environment.clock.sleep(for: duration) }
}

/// Names one piece of launched work, inside its store.
@usableFromInline
package struct WorkToken: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) { self.number = number }
}

/// The context of launched work. Each of its steps is a turn and returns after its commit.
///
/// It may be used from any task. Once the work is cancelled or its store disposed, steps are dropped without an error
/// and return at once; `Task.isCancelled` tells.
public struct Work<F: Feature>: Sendable {
    let runner: TurnRunner<F>
    let context: WorkContext

    /// The intent that launched this work.
    public var intentID: IntentID { context.origin.intentID }

    /// The caller who sent the intent, as of its acceptance; nil if anonymous.
    public var principal: Principal? { context.origin.principal }

    /// The session that the store belongs to.
    public var session: SessionInfo { runner.environment.session }

    /// The time on the wall clock now.
    public var now: Timestamp { runner.environment.now() }

    /// The store's state now, not when the work was launched: after an `await` it may differ.
    public var state: F.State { runner.state }

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
        // The body cannot throw, but an action that it sends can; nothing else reports it.
        if let error = await step(body) {
            context.host.failed(context, error)
        }
    }

    /// Several things in one step: all of them are kept, or none. A throw undoes the step and is thrown on.
    public func turn(_ body: @escaping @Sendable (inout Turn<F>) throws -> Void) async throws {
        if let error = await step(body) { throw error }
    }

    /// Waits on the store's clock, so that a test can move it.
    public func sleep(for duration: Duration) async throws {
        try await context.sleep(for: duration)
    }

    /// Runs a step in its turn; returns what it threw, nil when it is committed or dropped.
    private func step(_ body: @escaping @Sendable (inout Turn<F>) throws -> Void) async -> (any Error)? {
        await context.host.step(of: context) { [runner, origin = context.origin] _, turn in
            runner.run(turn, stage: nil, origin: origin, body)
        }
    }
}
