import MVI
import Testing

/// Events and work that a test explicitly skips.
extension TestStore {
    /// Drops all messages, labels and intents to other stores that were not asserted so far, so that an exhaustive test
    /// can continue. Failures stay, since they must be expected.
    ///
    /// ```swift
    /// await store.send(.signIn)
    /// await store.skipUnasserted()
    /// await store.send(.order) { $0.isOrdered = true }
    /// ```
    ///
    /// - Parameters:
    ///   - strict: true to fail the test if there is nothing to drop.
    ///   - sourceLocation: the location that a failure is reported at.
    public func skipUnasserted(strict: Bool = true, sourceLocation: SourceLocation = #_sourceLocation)
        async
    {
        guard world != nil else { return }
        await settle(sourceLocation)
        if let skipped = inbox.takeUnasserted() {
            showSkipped(skipped, sourceLocation)
        } else if strict {
            fail(
                "There is nothing to skip: all events are asserted.\(whatMayBeMissing)",
                sourceLocation)
        }
    }

    /// Cancels the store's work that runs, waits or is registered for watchers, so that an exhaustive test can end or
    /// continue without it. Earlier messages of the work must be received or skipped.
    ///
    /// - Parameters:
    ///   - strict: true to fail the test if no work runs.
    ///   - sourceLocation: the location that a failure is reported at.
    public func cancelWork(strict: Bool = true, sourceLocation: SourceLocation = #_sourceLocation)
        async
    {
        guard world != nil else { return }
        await settle(sourceLocation)
        let running = workInProgress
        if running.isEmpty, strict {
            fail("There is no work to cancel.", sourceLocation)
        }
        guard let host else { return }
        if showsSkipped, !running.isEmpty {
            warn("Work was canceled: \(running.joined(separator: ", ")).", sourceLocation)
        }
        host.pause()
        host.resume()
        await settle(sourceLocation)
    }

    // MARK: Showing

    /// Reports the events that a step of the test skips, if enabled.
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

    /// Reports the part of a change of state that a relaxed test does not describe.
    func showUndescribed(
        _ change: ((inout F.State) throws -> Void)?, _ cause: String, _ before: F.State,
        _ after: F.State,
        _ sourceLocation: SourceLocation
    ) {
        guard !isExhaustive, showsSkipped else { return }
        var described = before
        // The closure is written for the state after the change, on which it was checked.
        if let change { withKnownIssue(isIntermittent: true) { try change(&described) } }
        guard described != after else { return }
        warn(
            """
            Skipped: \(cause) changed more of the state than described (- described, + actual):
            \(difference(expected: described, actual: after))
            """, sourceLocation)
    }

    /// Fails an exhaustive test for an unasserted event. A relaxed test reports it, if enabled.
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
