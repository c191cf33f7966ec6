extension Turn {
    /// Runs `onElement` for each element of a sequence, one after the other.
    ///
    /// ```swift
    /// turn.observe(id: "arrivals") { [arrivals] in arrivals() } onElement: { mails, work in
    ///     await work.dispatch(.loaded(mails))
    /// }
    /// ```
    ///
    /// The end of the sequence ends the work. What the sequence or `onElement` throws ends it as well and is a failure,
    /// as with other work. An intent settles without waiting for it. Observing again under the same id takes the place
    /// of what runs.
    ///
    /// - Parameters:
    ///   - id: the work's name, for `cancel`.
    ///   - lifetime: while watched, or until the store's end.
    ///   - makeSequence: called in the work's task each time the work starts, for a sequence of its own: what is
    ///     observed while watched starts anew with each first watcher.
    ///   - onElement: may take steps; the next element is asked for when it has returned.
    public mutating func observe<Elements: AsyncSequence & SendableMetatype>(
        id: WorkID, _ lifetime: WorkLifetime = .whileWatched(),
        _ makeSequence: @escaping @Sendable () async throws -> Elements,
        onElement: @escaping @Sendable (_ element: Elements.Element, _ work: Work<F>) async throws -> Void
    ) {
        let operation: Operation = { work in
            for try await element in try await makeSequence() { try await onElement(element, work) }
        }
        switch lifetime {
        case .whileWatched(let grace): whileWatched(id: id, grace: grace, operation)
        case .store: launch(id: id, policy: .cancelPrevious, isCounted: false, operation)
        }
    }
}
