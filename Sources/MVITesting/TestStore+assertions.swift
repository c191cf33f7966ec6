import MVI
import Testing

extension TestStore {
    /// The next message, with the change of state that it makes. It may still be on its way: the test waits for it as
    /// long as work runs, at most the store's timeout.
    ///
    /// - Parameter change: makes the state after the message from the one before; nil says that it changes nothing.
    public func receive(
        _ message: F.Message, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State) throws -> Void)? = nil
    ) async where F.Message: Equatable {
        await receive(
            describe(message), where: { $0 == message }, change, sourceLocation,
            mismatch: { difference(expected: describe(message), actual: describe($0)) })
    }

    /// The same for messages that cannot be compared, or of which only a part matters.
    ///
    /// - Parameter expectation: what is expected, for the text of a failure.
    public func receive(
        _ expectation: String = "a message that meets the test's condition",
        where isExpected: @escaping @Sendable (F.Message) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation, _ change: ((inout F.State) throws -> Void)? = nil
    ) async {
        await receive(
            expectation, where: isExpected, change, sourceLocation,
            mismatch: { difference(expected: expectation, actual: describe($0)) })
    }

    /// The next label.
    public func expect(_ label: F.Label, sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle()
        let isExhaustive = isExhaustive
        let inbox = inbox
        await wait { isExhaustive ? !inbox.labels.isEmpty : inbox.labels.contains(label) }
        if let found = inbox.takeLabel(where: { isExhaustive || $0 == label }) {
            guard found != label else { return }
            fail(
                """
                Another label was published than expected (- expected, + published):
                \(difference(expected: describe(label), actual: describe(found)))
                """, sourceLocation)
        } else {
            fail("Expected the label \(describe(label)), but it was not published.\(whatMayBeMissing)", sourceLocation)
        }
    }

    /// The next throw in the feature's code that was not the end of a `send`: in bootstrap or in launched work.
    @discardableResult
    public func expectFailure(sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
        await settle()
        let inbox = inbox
        await wait { !inbox.failures.isEmpty }
        let failure = inbox.takeFailure()
        if failure == nil { fail("Expected a failure, but nothing threw.\(whatMayBeMissing)", sourceLocation) }
        return failure
    }

    /// Ends the test of this store: waits for running work, at most the store's timeout, then fails the test for every
    /// message, label and failure that was not asserted and for work that still runs, and disposes the store.
    public func finish(sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle()
        let store = store
        if isExhaustive { await wait { store.workInProgress.isEmpty } }
        let running = store.workInProgress
        let sleepers = clock.sleeperCount
        store.dispose()
        condition.withLock { $0.isFinished = true }
        defer { inbox.removeAll() }
        guard isExhaustive else { return }
        complain(
            "message was not received", "messages were not received", inbox.messages.map { $0.message }, sourceLocation)
        complain("label was not expected", "labels were not expected", inbox.labels, sourceLocation)
        complain("failure was not expected", "failures were not expected", inbox.failures, sourceLocation)
        if !running.isEmpty {
            let sleeping = sleepers > 0 ? " Work that waits for time goes on with `advance(by:)`." : ""
            fail(
                "Work still runs at the end of the test: \(running.joined(separator: ", ")). Let it end or cancel it."
                    + sleeping, sourceLocation)
        }
    }

    private func complain(_ one: String, _ many: String, _ left: [some Any], _ sourceLocation: SourceLocation) {
        guard !left.isEmpty else { return }
        let list = left.map { "  \(describe($0))" }.joined(separator: "\n")
        fail("\(left.count) \(left.count == 1 ? one : many) by the test:\n\(list)", sourceLocation)
    }

    private func receive(
        _ expectation: String, where isExpected: @escaping @Sendable (F.Message) -> Bool,
        _ change: ((inout F.State) throws -> Void)?, _ sourceLocation: SourceLocation,
        mismatch: (F.Message) -> String
    ) async {
        await settle()
        let isExhaustive = isExhaustive
        let inbox = inbox
        await wait {
            isExhaustive ? !inbox.messages.isEmpty : inbox.messages.contains { isExpected($0.message) }
        }
        guard let found = inbox.takeMessage(where: { isExhaustive || isExpected($0) }) else {
            fail("Expected to receive \(expectation), but it did not come.\(whatMayBeMissing)", sourceLocation)
            return
        }
        guard isExpected(found.message) else {
            fail(
                """
                Another message came than expected (- expected, + received):
                \(mismatch(found.message))
                """, sourceLocation)
            return
        }
        check(change, found, sourceLocation)
    }

    private func check(
        _ change: ((inout F.State) throws -> Void)?, _ found: Inbox<F>.Reduced, _ sourceLocation: SourceLocation
    ) {
        guard change != nil || isExhaustive else { return }
        // Who need not describe all of a change says what holds after it.
        var expected = isExhaustive ? found.before : found.after
        do {
            try change?(&expected)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
            return
        }
        guard expected != found.after else { return }
        let what =
            change == nil
            ? "\(describe(found.message)) changed the state, and the test does not say how"
            : "The state after \(describe(found.message)) is not the expected one"
        fail(
            """
            \(what) (- expected, + actual):
            \(difference(expected: describe(expected), actual: describe(found.after)))
            """, sourceLocation)
    }

    /// Waits until `condition` holds or nothing can bring it about any more, at most the timeout.
    private func wait(until condition: @escaping @Sendable () -> Bool) async {
        let store = store
        let executor = executor
        _ = await executor.signal.wait(atMost: timeout) {
            condition() || (executor.isIdle && store.workInProgress.isEmpty)
        }
    }

    private var whatMayBeMissing: String {
        let running = store.workInProgress
        if running.isEmpty { return " No work runs." }
        let sleepers = clock.sleeperCount
        let sleeping =
            sleepers == 0 ? "" : " \(sleepers) of its tasks wait for time, which `advance(by:)` moves."
        return " Work runs: \(running.joined(separator: ", ")).\(sleeping)"
    }
}
