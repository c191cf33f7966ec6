extension Turn {
    /// The function that launched work runs. It receives the context for its steps.
    public typealias Operation = @Sendable (Work<F>) async throws -> Void

    /// Launches `operation` after the commit of this turn. It is canceled if the store ends.
    ///
    /// - Parameters:
    ///   - id: the name of the work inside this store.
    ///   - policy: the rule if work of that id is already running.
    ///   - isCounted: true if the intent settles only after this work. If false, the work that it launches is not
    ///     counted either.
    ///   - operation: the work.
    public mutating func launch(
        id: WorkID? = nil, policy: WorkPolicy = .parallel, isCounted: Bool = true, _ operation: @escaping Operation
    ) {
        effects.append(.launch(request(id, policy, isCounted: isCounted, operation)))
    }

    /// Returns the work without its feature's type.
    ///
    /// - Parameter part: the part that the work ends with.
    func request(
        _ id: WorkID?, _ policy: WorkPolicy, isCounted: Bool = true, of part: PartName? = nil,
        _ operation: @escaping Operation
    ) -> WorkRequest {
        let origin = workOrigin(isCounted: isCounted)
        return WorkRequest(origin: origin, id: id, policy: policy, part: part) { [runner] context in
            try await operation(Work(runner: runner, context: context))
        }
    }

    /// Cancels the work of parts that the turn's messages have removed.
    @usableFromInline
    mutating func cancelGoneParts() {
        let gone = PartName.gone(context.host.parts(after: context.earlier + effects), from: current)
        if !gone.isEmpty { effects.append(.cancelParts(gone)) }
    }

    /// Returns the origin for work that this turn launches. Steps of launched work pass what led to it on.
    private func workOrigin(isCounted: Bool) -> WorkOrigin {
        guard let origin else {
            return WorkOrigin(intentID, cause, principal, isCounted: isCounted, trace: context.trace)
        }
        // An object of its own, since it gets the number of this turn.
        return WorkOrigin(
            origin.intentID, origin.intent, origin.principal, isCounted: isCounted && origin.isCounted,
            trace: origin.trace)
    }

    /// Cancels the running and waiting work of an id after the commit of this turn, if there is any.
    public mutating func cancel(_ id: WorkID) {
        effects.append(.cancel(id))
    }

    /// Returns true if work of the id would run or wait if this turn were committed now, including launches and
    /// cancellations so far in this turn and in earlier turns of the batch. A call held back by `debounce` or
    /// `throttle` counts as waiting. Work registered for watchers counts only while it runs. Canceled work does not
    /// count. A step's own work counts.
    ///
    /// Running work may end before the turn is committed. If exactly one piece must run, use a policy instead.
    public func isRunning(_ id: WorkID) -> Bool { context.host.isRunning(id, after: context.earlier, effects) }

    /// Runs `operation` when `interval` has passed without another call for the same id.
    public mutating func debounce(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, Work.after(interval, operation))
    }

    /// Runs `operation` at once and holds back further calls for the same id until `interval` has passed.
    ///
    /// - Parameters:
    ///   - id: the name of the work inside this store.
    ///   - interval: the time during which further calls are held back.
    ///   - latest: true to run the last held-back call at the end of the interval, which begins the next interval. If
    ///     false, all held-back calls are dropped.
    ///   - operation: the work.
    public mutating func throttle(
        id: WorkID, for interval: Duration, latest: Bool = false, _ operation: @escaping Operation
    ) {
        effects.append(.throttle(interval, latest: latest, request(id, .parallel, operation)))
    }

    /// Runs `operation` every `interval`, first after one interval, until `cancel(id)` or the store's end. Setting the
    /// timer again restarts it. Intents settle without waiting for timers or the work that timers launch.
    public mutating func timer(id: WorkID, every interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, isCounted: false, Work.every(interval, operation))
    }

    /// Runs `operation` while a stream shows the store, and cancels it `grace` after the last stream ended. If a stream
    /// returns in time, the operation goes on. It stays registered until `cancel(id)`. Intents settle without waiting
    /// for it.
    ///
    /// Registering the id again replaces the registration: the running operation is canceled, and the new one starts at
    /// once if a stream shows the store.
    public mutating func whileWatched(id: WorkID, grace: Duration = .seconds(5), _ operation: @escaping Operation) {
        effects.append(.whileWatched(grace, request(id, .keepPrevious, isCounted: false, operation)))
    }
}

extension Turn {
    /// Runs `onElement` for each element of a sequence while a stream shows the store, one after the other.
    ///
    /// The first element is handled before a stream shows the store for the first time, before a request reads its
    /// state, and before another store's turn reads it with `view(of:key:)`. A request or a turn that reads counts as a
    /// stream meanwhile. After a second without it the state is shown as it is, to clients as stale.
    ///
    /// ```swift
    /// turn.observe(id: "arrivals") { [arrivals] in arrivals() } onElement: { mails, work in
    ///     await work.dispatch(.loaded(mails))
    /// }
    /// ```
    ///
    /// The work ends with the sequence. An error of the sequence or `onElement` ends it, too, and is a failure as with
    /// other work. Intents settle without waiting for it. Observing again under the same id replaces the running work.
    ///
    /// - Parameters:
    ///   - id: the name of the work, for `cancel`.
    ///   - lifetime: while watched, or until the store's end.
    ///   - makeSequence: called in the work's task each time the work starts. Work that is observed while watched
    ///     starts with a new sequence for each first watcher.
    ///   - onElement: called for each element; may take steps. The next element is read after it returns.
    public mutating func observe<Elements: AsyncSequence & SendableMetatype>(
        id: WorkID, _ lifetime: WorkLifetime = .whileWatched(),
        _ makeSequence: @escaping @Sendable () async throws -> Elements,
        onElement: @escaping @Sendable (_ element: Elements.Element, _ work: Work<F>) async throws -> Void
    ) {
        let operation = Work.each(makeSequence, onElement)
        func request(_ policy: WorkPolicy) -> WorkRequest {
            self.request(id, policy, isCounted: false, operation).observing
        }
        switch lifetime {
        case .whileWatched(let grace): effects.append(.whileWatched(grace, request(.keepPrevious)))
        case .store: effects.append(.launch(request(.cancelPrevious)))
        }
    }
}
