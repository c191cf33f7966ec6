/// The part's work. It ends with the part, and its ids are separate from those of other parts.
extension PartTurn {
    /// The function that launched work of the part runs. It receives the context for its steps.
    public typealias Operation = @Sendable (PartWork<P>) async throws -> Void

    /// Launches `operation` after the commit of this turn, as `Turn.launch` does.
    ///
    /// - Parameters:
    ///   - id: the name of the work inside the part. Other parts, including those of the same list, have separate ids.
    ///   - policy: the rule if work of that id is already running.
    ///   - isCounted: true if the intent settles only after this work.
    ///   - operation: the work.
    public mutating func launch(
        id: WorkID? = nil, policy: WorkPolicy = .parallel, isCounted: Bool = true, _ operation: @escaping Operation
    ) {
        turn.launch(id, policy, isCounted: isCounted, operation) { .launch($0) }
    }

    /// Cancels the part's running and waiting work of an id after the commit of this turn.
    public mutating func cancel(_ id: WorkID) { turn.cancel(id) }

    /// Returns true if the part's work of the id would run or wait, as `Turn.isRunning` does.
    public func isRunning(_ id: WorkID) -> Bool { turn.isRunning(id) }

    /// Runs `operation` when `interval` has passed without another call for the same id of the part.
    public mutating func debounce(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, PartWork.after(interval, operation))
    }

    /// Runs `operation` at once and holds back further calls for the same id of the part until `interval` has passed,
    /// as `Turn.throttle` does.
    public mutating func throttle(
        id: WorkID, for interval: Duration, latest: Bool = false, _ operation: @escaping Operation
    ) {
        turn.launch(id, .parallel, isCounted: true, operation) { .throttle(interval, latest: latest, $0) }
    }

    /// Runs `operation` every `interval`, as `Turn.timer` does.
    public mutating func timer(id: WorkID, every interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, isCounted: false, PartWork.every(interval, operation))
    }

    /// Runs `operation` while a stream shows the store, as `Turn.whileWatched` does.
    public mutating func whileWatched(id: WorkID, grace: Duration = .seconds(5), _ operation: @escaping Operation) {
        turn.launch(id, .keepPrevious, isCounted: false, operation) { .whileWatched(grace, $0) }
    }

    /// Runs `onElement` for each element of a sequence, as `Turn.observe` does.
    public mutating func observe<Elements: AsyncSequence & SendableMetatype>(
        id: WorkID, _ lifetime: WorkLifetime = .whileWatched(),
        _ makeSequence: @escaping @Sendable () async throws -> Elements,
        onElement: @escaping @Sendable (_ element: Elements.Element, _ work: PartWork<P>) async throws -> Void
    ) {
        let operation = PartWork.each(makeSequence, onElement)
        switch lifetime {
        case .whileWatched(let grace):
            turn.launch(id, .keepPrevious, isCounted: false, operation) { .whileWatched(grace, $0.observing) }
        case .store:
            turn.launch(id, .cancelPrevious, isCounted: false, operation) { .launch($0.observing) }
        }
    }
}
