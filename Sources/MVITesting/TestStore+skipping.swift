import MVI
import Testing

/// The parts that a test deliberately does not assert.
extension TestStore {
    /// Drops every message, label and intent to another store that came so far and was not asserted, so that an exhaustive
    /// test goes on from here. Failures stay: they are to be expected.
    ///
    /// ```swift
    /// await store.send(.signIn)
    /// await store.skipUnasserted()
    /// await store.send(.order) { $0.isOrdered = true }
    /// ```
    ///
    /// - Parameters:
    ///   - strict: whether the test fails if there is nothing to drop.
    ///   - sourceLocation: where a failure is shown.
    public func skipUnasserted(strict: Bool = true, sourceLocation: SourceLocation = #_sourceLocation)
        async
    {
        guard world != nil else { return }
        await settle(sourceLocation)
        if let skipped = inbox.takeUnasserted() {
            showSkipped(skipped, sourceLocation)
        } else if strict {
            fail(
                "There is nothing to skip: the test has asserted all that came.\(whatMayBeMissing)",
                sourceLocation)
        }
    }

    /// Cancels the store's work that runs, waits or is registered for watchers, so that an exhaustive test may end or go on
    /// without it. What the work dispatched before is to be received or skipped.
    ///
    /// - Parameters:
    ///   - strict: whether the test fails if no work runs.
    ///   - sourceLocation: where a failure is shown.
    public func cancelWork(strict: Bool = true, sourceLocation: SourceLocation = #_sourceLocation)
        async
    {
        guard world != nil else { return }
        await settle(sourceLocation)
        let running = workInProgress
        if running.isEmpty, strict {
            fail("There is no work to cancel: none of the store's runs.", sourceLocation)
        }
        guard let host else { return }
        if showsSkipped, !running.isEmpty {
            warn("Work was cancelled: \(running.joined(separator: ", ")).", sourceLocation)
        }
        host.pause()
        host.resume()
        await settle(sourceLocation)
    }

    // MARK: Showing

    /// Shows what a step of the test skips, if the test wants that.
    func showSkipped(_ skipped: Inbox<F>.Open, _ sourceLocation: SourceLocation) {
        guard showsSkipped else { return }
        for text in skipped.texts { warn("Skipped: \(text)", sourceLocation) }
        guard let before = skipped.messages.first?.before, let after = skipped.messages.last?.after,
            before != after
        else { return }
        warn(
            """
            Skipped: the change of state by these messages (- before, + after):
            \(difference(expected: before, actual: after))
            """, sourceLocation)
    }

    /// Shows the rest of a change of state that a relaxed test describes in part, or not at all.
    func showUndescribed(
        _ change: ((inout F.State) throws -> Void)?, _ cause: String, _ before: F.State,
        _ after: F.State,
        _ sourceLocation: SourceLocation
    ) {
        guard !isExhaustive, showsSkipped else { return }
        var described = before
        // The closure is written for the state after the change: it was checked on that.
        if let change { withKnownIssue(isIntermittent: true) { try change(&described) } }
        guard described != after else { return }
        warn(
            """
            Skipped: \(cause) changed more of the state than the test says (- said, + actual):
            \(difference(expected: described, actual: after))
            """, sourceLocation)
    }

    /// Fails an exhaustive test for something that it does not state; a relaxed one shows it if it wants that.
    func noteUnstated(_ text: String, _ sourceLocation: SourceLocation) {
        if isExhaustive {
            fail(text, sourceLocation)
        } else if showsSkipped {
            warn("Skipped: \(text)", sourceLocation)
        }
    }

    func warn(_ text: String, _ sourceLocation: SourceLocation) {
        Issue.record(Comment(rawValue: text), severity: .warning, sourceLocation: sourceLocation)
    }
}
