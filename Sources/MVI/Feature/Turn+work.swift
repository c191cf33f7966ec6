extension Turn {
    /// Launched work: an asynchronous function of the context in which it takes steps.
    public typealias Operation = @Sendable (Work<F>) async throws -> Void

    /// Starts `operation` once this turn is committed, as a child of the store: it is cancelled with it.
    ///
    /// - Parameters:
    ///   - id: names the work inside this store.
    ///   - policy: what happens when work of that id is running already.
    ///   - isCounted: whether the intent is settled only after this work. What work that is not counted launches is not
    ///     counted either.
    ///   - operation: the work.
    public mutating func launch(
        id: WorkID? = nil, policy: WorkPolicy = .parallel, isCounted: Bool = true, _ operation: @escaping Operation
    ) {
        effects.append(.launch(request(id, policy, isCounted: isCounted, operation)))
    }

    /// The work without its feature's type.
    ///
    /// - Parameter part: the part that it ends with.
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

    /// The origin of work that this turn launches: that of the work whose step it is, if it is one.
    private func workOrigin(isCounted: Bool) -> WorkOrigin {
        guard let origin else {
            return WorkOrigin(intentID, cause, principal, isCounted: isCounted, trace: context.trace)
        }
        return isCounted || !origin.isCounted ? origin : origin.uncounted
    }

    /// Cancels the running and waiting work of that id once this turn is committed. Nothing running: nothing happens.
    public mutating func cancel(_ id: WorkID) {
        effects.append(.cancel(id))
    }

    /// Returns true if work of that id would run or wait if this turn were committed now: with what it and the batch's earlier
    /// turns launched and cancelled so far. A call that `debounce` or `throttle` holds back waits. Work that is
    /// registered for watchers counts while it runs; cancelled work does not count. Inside a step, the work itself runs.
    ///
    /// Work ends on its own: what runs now may have ended when the turn is committed. Where exactly one piece must run,
    /// launch with a policy instead of asking.
    public func isRunning(_ id: WorkID) -> Bool { context.host.isRunning(id, after: context.earlier, effects) }

    /// Runs `operation` when `interval` has passed without another call for the same id.
    public mutating func debounce(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, Work.after(interval, operation))
    }

    /// Runs `operation` at once, and holds further calls for the same id back until `interval` has passed.
    ///
    /// - Parameters:
    ///   - id: names the work inside this store.
    ///   - interval: how long further calls are held back.
    ///   - latest: whether the last call that was held back runs at the interval's end, which begins the next interval. If
    ///     not, all of them are dropped.
    ///   - operation: the work.
    public mutating func throttle(
        id: WorkID, for interval: Duration, latest: Bool = false, _ operation: @escaping Operation
    ) {
        effects.append(.throttle(interval, latest: latest, request(id, .parallel, operation)))
    }

    /// Runs `operation` every `interval`, first after one interval, until `cancel(id)` or the store's end. Setting it
    /// again starts it anew. An intent settles without waiting for a timer, or for what it launches.
    public mutating func timer(id: WorkID, every interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious, isCounted: false, Work.every(interval, operation))
    }

    /// Runs `operation` while a stream shows the store, and cancels it `grace` after the last one left; one that
    /// comes back in time finds it running. It stays registered under its id until `cancel(id)`. An intent settles
    /// without waiting for it.
    ///
    /// Registering the id again takes the place of what is registered: what runs of that id is cancelled, and the new
    /// operation starts at once if a stream shows the store.
    public mutating func whileWatched(id: WorkID, grace: Duration = .seconds(5), _ operation: @escaping Operation) {
        effects.append(.whileWatched(grace, request(id, .keepPrevious, isCounted: false, operation)))
    }
}

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
        let operation = Work.each(makeSequence, onElement)
        switch lifetime {
        case .whileWatched(let grace): whileWatched(id: id, grace: grace, operation)
        case .store: launch(id: id, policy: .cancelPrevious, isCounted: false, operation)
        }
    }
}
