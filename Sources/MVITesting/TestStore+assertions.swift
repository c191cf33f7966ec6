import MVI
import Testing

extension TestStore {
    /// Asserts the next message and the change of state that it makes. The test waits for the message as long as work
    /// runs, up to the store's timeout. If all work sleeps on the test's clock, it fails at once.
    ///
    /// - Parameters:
    ///   - message: the message, with its associated values.
    ///   - sourceLocation: the location that a failure is reported at.
    ///   - change: changes the state before the message to the one after it; nil if the message changes nothing.
    public func receive(
        _ message: F.Message, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State) throws -> Void)? = nil
    ) async where F.Message: Equatable {
        let found = await take(describe(message), where: { $0 == message }, sourceLocation) {
            difference(expected: message, actual: $0)
        }
        if let found { check(change, found, sourceLocation) }
    }

    /// Asserts the next message with a condition, for messages that cannot be compared or that are compared in part.
    ///
    /// - Parameters:
    ///   - expectation: a description of the message, for the text of a failure.
    ///   - isExpected: returns true for the expected message.
    ///   - sourceLocation: the location that a failure is reported at.
    ///   - change: changes the state before the message to the one after it; nil if the message changes nothing.
    public func receive(
        _ expectation: String = "a message that meets the test's condition",
        where isExpected: @escaping @Sendable (F.Message) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation, _ change: ((inout F.State) throws -> Void)? = nil
    ) async {
        let found = await take(expectation, where: isExpected, sourceLocation) {
            difference(expected: expectation, actual: describe($0))
        }
        if let found { check(change, found, sourceLocation) }
    }

    /// Asserts an action that was performed, after those already received. Unasserted actions do not fail the test,
    /// since their effects show in messages.
    public func receive(
        action: F.Action, sourceLocation: SourceLocation = #_sourceLocation
    ) async where F.Action: Equatable {
        await settle(sourceLocation)
        let inbox = inbox
        await wait { inbox.actions.contains(action) }
        let performed = inbox.actions
        if !inbox.takeActions(to: { $0 == action }).isEmpty { return }
        let list = performed.isEmpty ? " None was." : " These were:\n" + lines(performed.map { describe($0) })
        fail("Expected the action \(describe(action)), but it was not performed.\(list)", sourceLocation)
    }

    /// Asserts the next error of a feature's code outside of a `send`: in bootstrap, in launched work, for a reminder
    /// or in an interceptor, of this store or of another one of the session.
    @discardableResult
    public func expectFailure(sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
        await settle(sourceLocation)
        let inbox = inbox
        await wait { !inbox.open.failures.isEmpty }
        let failure = inbox.takeFailure()
        if failure == nil { fail("Expected a failure, but nothing threw.\(whatMayBeMissing)", sourceLocation) }
        return failure
    }

    /// Ends the test of this store. Waits for running work, up to the store's timeout, then fails the test for each
    /// message, label, failure and intent to another store that was not asserted, and for running work. Ends the
    /// session. Unasserted actions and reminders do not fail the test.
    public func finish(sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let world else { return markFinished() }
        await settle(sourceLocation)
        if isExhaustive { await wait { self.workInProgress.isEmpty } }
        let running = workInProgress
        let sleepers = clock.sleeperCount
        markFinished()
        world.end()
        defer { inbox.removeAll() }
        let open = inbox.open
        if isExhaustive {
            for text in open.texts { fail(text, sourceLocation) }
        } else {
            showSkipped(open, sourceLocation)
        }
        if !running.isEmpty {
            let sleeping = sleepers > 0 ? " Use `advance(by:)` for work that waits for time." : ""
            noteUnstated(
                "Work still runs at the end of the test: \(running.joined(separator: ", ")). Let it end or cancel it."
                    + sleeping, sourceLocation)
        }
    }

    private func lines(_ texts: [String]) -> String { texts.map { "  \($0)" }.joined(separator: "\n") }

    /// Removes and returns the next message if it is the expected one; otherwise fails the test.
    func take(
        _ expectation: String, where isExpected: @escaping @Sendable (F.Message) -> Bool,
        _ sourceLocation: SourceLocation, mismatch: (F.Message) -> String
    ) async -> Inbox<F>.Reduced? {
        await settle(sourceLocation)
        let isExhaustive = isExhaustive
        let inbox = inbox
        await wait {
            isExhaustive ? !inbox.open.messages.isEmpty : inbox.open.messages.contains { isExpected($0.message) }
        }
        let messages = inbox.takeMessages { isExhaustive || isExpected($0) }
        guard let found = messages.last else {
            fail("Expected to receive \(expectation), but it did not come.\(whatMayBeMissing)", sourceLocation)
            return nil
        }
        showSkipped(Inbox.Open(messages: messages.dropLast()), sourceLocation)
        guard isExpected(found.message) else {
            fail(
                """
                Another message came than expected (- expected, + received):
                \(mismatch(found.message))
                """, sourceLocation)
            return nil
        }
        return found
    }

    func check(
        _ change: ((inout F.State) throws -> Void)?, _ found: Inbox<F>.Reduced, _ sourceLocation: SourceLocation
    ) {
        check(change, describe(found.message), found.before, found.after, sourceLocation)
    }

    /// - Parameter cause: the cause of the change, for the text of a failure.
    func check(
        _ change: ((inout F.State) throws -> Void)?, _ cause: String, _ before: F.State, _ after: F.State,
        _ sourceLocation: SourceLocation
    ) {
        // A test that may omit changes describes members of the state after the message.
        var expected = isExhaustive ? before : after
        do {
            try change?(&expected)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
            return
        }
        guard expected != after else {
            if change != nil, expected == before { warnOfNothing(cause, sourceLocation) }
            return showUndescribed(change, cause, before, after, sourceLocation)
        }
        let what =
            change == nil
            ? "\(cause) changed the state, and the test does not describe the change"
            : "The state after \(cause) is not the expected one"
        fail(
            """
            \(what) (- expected, + actual):
            \(difference(expected: expected, actual: after))
            """, sourceLocation)
    }

    /// Warns of a closure for a step that does not change the state. It may belong to another step.
    func warnOfNothing(_ cause: String, _ sourceLocation: SourceLocation) {
        guard isExhaustive else { return }
        warn("Neither \(cause) nor its closure changes the state: omit the closure.", sourceLocation)
    }

    /// Waits until `condition` holds or cannot become true any more, up to the timeout.
    func wait(until condition: @escaping @Sendable () -> Bool) async { await world?.wait(until: condition) }

    var whatMayBeMissing: String {
        let running = world?.work ?? []
        if running.isEmpty { return " No work runs." }
        let sleepers = clock.sleeperCount
        let sleeping =
            sleepers == 0 ? "" : " \(sleepers) of its tasks wait for time, which `advance(by:)` moves."
        let waiters = world?.stateWaiterCount ?? 0
        let waiting = waiters == 0 ? "" : " \(waiters) of its tasks wait for a state that has not come."
        return " Work runs: \(running.joined(separator: ", ")).\(sleeping)\(waiting)"
    }
}
