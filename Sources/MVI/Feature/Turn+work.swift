extension Turn {
    /// What launched work is: an asynchronous function of the context in which it may take steps.
    public typealias Operation = @Sendable (Work<F>) async throws -> Void

    /// Starts `operation` once this turn is committed, as a child of the store: it is cancelled with it.
    ///
    /// `id` names the work inside this store; `policy` says what happens when work of that id is running already.
    public mutating func launch(id: WorkID? = nil, policy: WorkPolicy = .parallel, _ operation: @escaping Operation) {
        effects.append(.launch(request(id, policy, operation)))
    }

    /// The work without its feature's type.
    private func request(
        _ id: WorkID?, _ policy: WorkPolicy, isCounted: Bool = true, _ operation: @escaping Operation
    ) -> WorkRequest {
        WorkRequest(intentID: intentID, id: id, policy: policy, isCounted: isCounted) { [runner] context in
            try await operation(Work(runner: runner, context: context))
        }
    }

    /// Cancels the running and queued work of that id once this turn is committed. Nothing running: nothing happens.
    public mutating func cancel(_ id: WorkID) {
        effects.append(.cancel(id))
    }

    /// Runs `operation` when `interval` has passed without another call for the same id.
    public mutating func debounce(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        launch(id: id, policy: .cancelPrevious) { work in
            try await work.sleep(for: interval)
            try await operation(work)
        }
    }

    /// Runs `operation` at once, and drops further calls for the same id until `interval` has passed.
    public mutating func throttle(id: WorkID, for interval: Duration, _ operation: @escaping Operation) {
        effects.append(.throttle(interval, request(id, .parallel, operation)))
    }

    /// Runs `operation` every `interval`, first after one interval, until `cancel(id)` or the store's end. Setting it
    /// again starts it anew. An intent settles without waiting for a timer.
    public mutating func timer(id: WorkID, every interval: Duration, _ operation: @escaping Operation) {
        let repeated: Operation = { work in
            while true {
                try await work.sleep(for: interval)
                try await operation(work)
            }
        }
        effects.append(.launch(request(id, .cancelPrevious, isCounted: false, repeated)))
    }

    /// Runs `operation` while a stream shows the store, and cancels it `grace` after the last one left; one that
    /// comes back in time finds it running. It stays registered under its id until `cancel(id)`. An intent settles
    /// without waiting for it.
    public mutating func whileWatched(id: WorkID, grace: Duration = .seconds(5), _ operation: @escaping Operation) {
        effects.append(.whileWatched(grace, request(id, .keepPrevious, isCounted: false, operation)))
    }
}
