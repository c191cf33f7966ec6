import Locking

/// An intent that an earlier run of the app kept, and that has no answer yet.
struct ResumedIntent: Sendable {
    let key: String
    let feature: String
    /// The intent as JSON.
    let body: [UInt8]
    /// True if it may have run.
    var isLost: Bool
}

/// Intents that survive the end of the app.
extension ClientCore {
    /// Restores the intents of an earlier run of the app. Called once, before other inputs.
    func loadIntents() {
        pendingCalls.add { [pendingStorage, report, weak self] in
            do {
                let text = try await pendingStorage?.load()
                self?.restore(text.map { KeptIntent.list(in: $0) } ?? [])
            } catch {
                report("The storage of waiting intents cannot be read, so that none are kept: \(error)")
                self?.restore(nil)
            }
        }
    }

    private func restore(_ list: [KeptIntent]?) {
        let intents = state.withLock { state in
            list?.map { kept in
                let number = state.number()
                state.resumed[number] = ResumedIntent(
                    key: kept.key, feature: kept.feature, body: kept.body, isLost: kept.mayHaveRun)
                state.intents[number] = caller(of: kept, number)
                var intent = PendingIntent(id: number, feature: kept.feature, body: kept.body, key: kept.key)
                (intent.isPredicted, intent.mayHaveRun) = (true, kept.mayHaveRun)
                (intent.until, intent.owner) = (kept.until, kept.owner)
                return intent
            }
        }
        handle(.restore(intents, wallTime: time.wallTime()))
    }

    private func caller(of kept: KeptIntent, _ number: UInt64) -> IntentCaller {
        let waiting = WaitingIntent(
            id: kept.key, feature: kept.feature, intent: String(decoding: kept.body, as: UTF8.self))
        return IntentCaller(
            done: { [weak self] result in
                guard let self else { return }
                state.withLock { _ = $0.resumed.removeValue(forKey: number) }
                guard case .failure(let error as RemoteError) = result else { return }
                // A closed client leaves it to the next one.
                if error.code != .closed { abandoned(waiting, error) }
            },
            progress: { [weak self] progress in
                for adopter in self?.adopters(of: kept.feature) ?? [] { adopter.progress(kept.key, progress) }
            })
    }

    // MARK: Adopters

    private func adopters(of feature: String) -> [Adopter] {
        state.withLock { $0.adopters[feature].map { Array($0.values) } ?? [] }
    }

    /// Adds a store that shows predictions of restored intents. It receives those of its feature that wait, and later
    /// ones, in order.
    func adopt(_ feature: String, by number: UInt64, _ adopter: Adopter) {
        let runs = state.withLock { state in
            state.adopters[feature, default: [:]][number] = adopter
            // After the results that were decided before.
            state.commands.append(.adopt(feature: feature, by: number))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if runs { run() }
    }

    func stopAdopting(_ feature: String, by number: UInt64) {
        state.withLock { state in
            state.adopters[feature]?[number] = nil
            if state.adopters[feature]?.isEmpty == true { state.adopters[feature] = nil }
        }
    }

    /// Performs ``Command/resume(intent:)``.
    func resume(_ number: UInt64) {
        guard let intent = state.withLock({ $0.resumed[number] }) else { return }
        for adopter in adopters(of: intent.feature) { adopter.resume(intent) }
    }

    /// Performs ``Command/adopt(feature:by:)``.
    func resumeAll(of feature: String, for number: UInt64) {
        let (adopter, intents) = state.withLock { state in
            let intents = state.connection.intents
            let waiting = intents.queue.enumerated().compactMap { index, intent -> ResumedIntent? in
                guard intent.feature == feature, var resumed = state.resumed[intent.id] else { return nil }
                resumed.isLost = intent.mayHaveRun || (index == 0 && intents.inFlight != nil)
                return resumed
            }
            return (state.adopters[feature]?[number], waiting)
        }
        for intent in intents { adopter?.resume(intent) }
    }

    // MARK: Saving

    /// Performs ``Command/saveIntents(_:)``: writes the newest list when earlier calls of the storage have returned.
    func save(_ list: [KeptIntent]) {
        guard unsaved.put(list) else { return }
        pendingCalls.add { [unsaved, pendingStorage, report] in
            guard let list = unsaved.take(), let text = KeptIntent.text(of: list) else { return }
            do {
                try await pendingStorage?.save(text)
            } catch {
                report("The storage of waiting intents failed to save them: \(error)")
            }
        }
    }
}
