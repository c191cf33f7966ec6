import MVI
import SessionJournal
import Sessions
import Testing
import WireJSON

/// Other stores of the session.
extension TestStore {
    /// The state of another store of the session; nil if it is not there.
    public func state<Other: Feature>(of feature: Other.Type, key: String? = nil) -> Other.State? {
        guard let world, let id = try? FeatureID(of: Other.self, key: key) else { return nil }
        if let runner = world.session.store(inMemory: id)?.runner as? TurnRunner<Other> { return runner.state }
        guard let stored = world.kept(id) else { return nil }
        // One that has not been needed yet, or has left memory.
        return try? WireJSON.decode(Other.State.self, from: stored.state)
    }

    /// Returns the view state of another store of the session; nil if it does not exist.
    public func view<Other: Feature>(of feature: Other.Type, key: String? = nil) -> Other.ViewState? {
        guard let world, let id = try? FeatureID(of: Other.self, key: key) else { return nil }
        if let runner = world.session.store(inMemory: id)?.runner as? TurnRunner<Other> { return runner.view }
        return world.kept(id).flatMap { try? WireJSON.decode(Other.ViewState.self, from: $0.view) }
    }

    /// The next intent that a turn sent to another store of the session, by `turn.send(_, to:)`. Those of a chain that was
    /// undone were not sent.
    public func expectSent<Other: Feature>(
        _ intent: Other.Intent, to feature: Other.Type, key: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let json: [UInt8]
        do {
            json = try WireJSON.encode(intent)
        } catch {
            return fail("The intent \(describe(intent)) cannot be written as JSON: \(error)", sourceLocation)
        }
        await expectSent(describe(intent), to: Other.instance(key), sourceLocation) {
            ($0 as? Other.Intent).flatMap { try? WireJSON.encode($0) } == json
        }
    }

    /// The same for an action that a turn had another store perform, by `turn.perform(_, on:)`.
    public func expectSent<Other: Feature>(
        action: Other.Action, to feature: Other.Type, key: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async where Other.Action: Equatable {
        await expectSent(describe(action), to: Other.instance(key), sourceLocation) { $0 as? Other.Action == action }
    }

    private func expectSent(
        _ what: String, to instance: String, _ sourceLocation: SourceLocation,
        where isMeant: @escaping @Sendable (_ value: any Sendable) -> Bool
    ) async {
        await settle(sourceLocation)
        let isExhaustive = isExhaustive
        let text = "\(what) to \(instance)"
        let inbox = inbox
        let isExpected: @Sendable (Inbox<F>.Sent) -> Bool = { $0.instance == instance && isMeant($0.value) }
        await wait { isExhaustive ? !inbox.open.sent.isEmpty : inbox.open.sent.contains(where: isExpected) }
        let sent = inbox.takeSent { isExhaustive || isExpected($0) }
        guard let found = sent.last else {
            return fail("Expected that \(text) is sent, but it was not.\(whatMayBeMissing)", sourceLocation)
        }
        showSkipped(Inbox.Open(sent: sent.dropLast()), sourceLocation)
        guard !isExpected(found) else { return }
        fail(
            """
            Something else was sent than expected (- expected, + sent):
            \(difference(expected: text, actual: found.text))
            """, sourceLocation)
    }

    /// Sends an intent to another store of the session as a client does: for one that sends to the store under test. Fails
    /// the test if the intent is refused or throws.
    @discardableResult
    public func send<Other: Feature>(
        _ intent: Other.Intent, to feature: Other.Type, key: String? = nil, as principal: Principal? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        guard let world else { return nil }
        await settle(sourceLocation)
        do {
            let id = try FeatureID(of: Other.self, key: key)
            let body = try WireJSON.encode(intent)
            guard let result = await world.send(body, to: id, as: principal ?? self.principal) else {
                failUnanswered("The intent \(describe(intent)) to \(Other.name)", sourceLocation)
                return nil
            }
            if case .failure(let error) = result, let failure = error.failure {
                inbox.takeFailures(of: failure.intentID)
            }
            await settle(sourceLocation)
            return try result.get()
        } catch {
            let reason = (error as? StoreError).map { text(of: $0) } ?? "\(error)"
            fail("The intent \(describe(intent)) to \(Other.name) was rejected: \(reason).", sourceLocation)
            return nil
        }
    }
}

/// Reminders.
extension TestStore {
    /// The store's reminders that are set and have not fired, the one that is due first at the front.
    public var reminders: [SetReminder<F.Action>] {
        (world?.session.keptReminders ?? []).filter { $0.feature == id }.compactMap { reminder in
            guard let type = F.Action.self as? any Decodable.Type,
                let action = try? WireJSON.decode(type, from: reminder.action) as? F.Action
            else { return nil }
            return SetReminder(id: reminder.id, due: Timestamp(sinceEpoch: reminder.due), action: action)
        }
    }
}

/// A reminder that a store has set: see `Turn.remind`.
public struct SetReminder<Action: Sendable>: Sendable {
    /// The feature's name for it.
    public var id: String
    /// The time at which it fires.
    public var due: Timestamp
    /// The action that the store then performs.
    public var action: Action

    /// A reminder, to compare one with.
    public init(id: String, due: Timestamp, action: Action) { (self.id, self.due, self.action) = (id, due, action) }
}

extension SetReminder: Equatable where Action: Equatable {}

/// Failures of the journal, and changes by other servers.
extension TestStore {
    /// Has every commit fail from now on, until ``allowCommits()``: intents are rejected with the error, and nothing of
    /// their turns is received. Steps of launched work are tried again every 250 ms, and reminders every 2 s, of the test's
    /// time.
    public func failCommits(
        with error: StoreError = StoreError(.unavailable, "A test has commits fail.")
    ) {
        world?.journal.fail(error)
    }

    /// Lets commits succeed again.
    public func allowCommits() { world?.journal.fail(nil) }

    /// Changes the store's state as another server on the same journal does, of which this one has not heard: the next turn
    /// that is committed runs on the old state, loses, and runs again on the new one, with the same `now` and UUIDs. Nothing
    /// of the first run is received. A turn before it that is refused, or changes nothing, sees the old state.
    ///
    /// - Parameters:
    ///   - sourceLocation: where a failure is shown.
    ///   - change: makes the other server's state from the one that is kept.
    public func changeElsewhere(
        sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout F.State) throws -> Void
    ) async {
        guard let world else { return }
        await settle(sourceLocation)
        var state = kept ?? feature.initialState
        do {
            try change(&state)
            let isThere = try world.write(
                id, schemaVersion: F.schemaVersion, state: try WireJSON.encodeStored(state).bytes,
                view: try WireJSON.encode(feature.view(state)))
            if !isThere { fail("The store is not kept yet, so no other server can change it.", sourceLocation) }
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
        }
    }
}

/// Leaving memory, watching, the end.
extension TestStore {
    /// Has the store leave memory, as a server does with one that is not used. Fails the test if something keeps it there,
    /// and says what.
    ///
    /// It comes back with the next touch (an intent, a reminder, another store's turn, a watcher, ``comeBack(sourceLocation:)``):
    /// with the state that was kept as JSON, and a bootstrap that is told `.restored`.
    public func passivate(sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let world else { return }
        await settle(sourceLocation)
        let obstacles = world.session.passivate(id)
        guard !obstacles.isEmpty else { return }
        fail("The store cannot leave memory: \(obstacles.joined(separator: "; ")).", sourceLocation)
    }

    /// Has a store that has left memory come back, as a client does that reads its state.
    public func comeBack(sourceLocation: SourceLocation = #_sourceLocation) async {
        await check(world?.open(id, for: principal), "The store did not come back", sourceLocation)
    }

    /// One more client watches the store: work that runs `whileWatched` starts with the first.
    public func beginWatching(sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle(sourceLocation)
        await check(world?.beginWatching(id), "The store cannot be watched", sourceLocation)
    }

    /// The client that came last watches no more. After the last one work goes on for its grace period, which
    /// ``advance(by:sourceLocation:)`` lets pass.
    public func endWatching(sourceLocation: SourceLocation = #_sourceLocation) async {
        if world?.endWatching() == false { fail("No client watches the store.", sourceLocation) }
        await settle(sourceLocation)
    }

    /// Disposes of the store, as a client does with `DELETE`: its work is cancelled, and the next touch makes a new one.
    public func dispose(sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle(sourceLocation)
        await check(world?.dispose(id), "The store was not disposed of", sourceLocation)
    }

    /// Fails the test if the session refused something, or has not answered; else lets everything run.
    private func check(
        _ result: Result<Void, StoreError>?, _ text: String, _ sourceLocation: SourceLocation
    ) async {
        guard world != nil else { return }
        switch result {
        case nil: failUnanswered("\(text): the session", sourceLocation)
        case .failure(let error)?: fail("\(text): \(self.text(of: error)).", sourceLocation)
        case .success?: await settle(sourceLocation)
        }
    }
}
