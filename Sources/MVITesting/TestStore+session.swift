import MVI
import SessionJournal
import Sessions
import Testing
import WireJSON

/// Assertions on other stores of the session.
extension TestStore {
    /// Returns the state of another store of the session; nil if there is none.
    public func state<Other: Feature>(of feature: Other.Type, key: String? = nil) -> Other.State? {
        guard let world, let id = try? FeatureID(of: Other.self, key: key) else { return nil }
        if let runner = world.session.store(inMemory: id)?.runner as? TurnRunner<Other> { return runner.state }
        guard let stored = world.kept(id) else { return nil }
        // A store that has not been needed yet, or has left memory.
        return try? WireJSON.decode(Other.State.self, from: stored.state)
    }

    /// Returns the view state of another store of the session; nil if there is none.
    public func view<Other: Feature>(of feature: Other.Type, key: String? = nil) -> Other.ViewState? {
        guard let world, let id = try? FeatureID(of: Other.self, key: key) else { return nil }
        if let runner = world.session.store(inMemory: id)?.runner as? TurnRunner<Other> { return runner.view }
        return world.kept(id).flatMap { try? WireJSON.decode(Other.ViewState.self, from: $0.view) }
    }

    /// Asserts the next intent that a turn sent to another store of the session with `turn.send(_, to:)`. A chain that
    /// was undone has sent none.
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

    /// Asserts the next action that a turn sent to another store with `turn.perform(_, on:)`.
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

    /// Sends an intent to another store of the session as a client does, for stores that send to the store under test.
    /// Fails the test if the intent is refused or throws.
    @discardableResult
    public func send<Other: Feature>(
        _ intent: Other.Intent, to feature: Other.Type, key: String? = nil, as principal: Principal? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        await send(intent, to: feature, key, by: client(principal), sourceLocation)
    }

    /// Sends an intent to another store of the space as a client of shared stores does. See
    /// ``send(_:to:key:as:sourceLocation:)-(_,_,_,Principal?,_)``.
    @discardableResult
    public func send<Other: Feature>(
        _ intent: Other.Intent, to feature: Other.Type, key: String? = nil, as caller: TestCaller,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        guard let world else { return nil }
        return await send(intent, to: feature, key, by: world.client(caller), sourceLocation)
    }

    private func send<Other: Feature>(
        _ intent: Other.Intent, to feature: Other.Type, _ key: String?, by client: SessionClient,
        _ sourceLocation: SourceLocation
    ) async -> IntentOutcome? {
        guard let world else { return nil }
        await settle(sourceLocation)
        do {
            let id = try FeatureID(of: Other.self, key: key)
            let body = try WireJSON.encode(intent)
            guard let result = await world.send(body, to: id, by: client) else {
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
    /// The store's pending reminders, earliest first.
    public var reminders: [SetReminder<F.Action>] {
        (world?.session.keptReminders ?? []).filter { $0.feature == id }.compactMap { reminder in
            guard let type = F.Action.self as? any Decodable.Type,
                let action = try? WireJSON.decode(type, from: reminder.action) as? F.Action
            else { return nil }
            return SetReminder(id: reminder.id, due: Timestamp(sinceEpoch: reminder.due), action: action)
        }
    }
}

/// Messages to stores of other logs.
extension TestStore {
    /// The actions that the store told another log's store, in order. They stay: nobody receives them.
    ///
    /// ```swift
    /// #expect(store.told(Floor.self, key: "7") == [.paid("coffee")])
    /// ```
    ///
    /// ``perform(_:sourceLocation:)`` shows what a receiver does with one.
    public func told<Other: Feature>(
        _ feature: Other.Type, key: String? = nil, in receiver: Receiver = .shared
    ) -> [Other.Action] where Other.Action: Codable {
        let instance = key.map { "\(Other.name):\($0)" } ?? Other.name
        return (world?.session.keptMessages(of: id) ?? []).compactMap { message in
            guard message.feature.text == instance, message.receiver == receiver else { return nil }
            return try? WireJSON.decode(Other.Action.self, from: message.action, filling: nil)
        }
    }

    /// Has the store learn that a message was not delivered. See ``/MVI/Feature/undelivered(_:)``, which may have no action
    /// for it.
    ///
    /// ```swift
    /// await store.undelivered(UndeliveredMessage(Floor.self, .paid("coffee"), key: "7", reason: .refused))
    /// ```
    public func undelivered(_ message: UndeliveredMessage, sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let action = F.undelivered(message) else { return }
        await perform(action, sourceLocation: sourceLocation)
    }
}

/// A reminder that a store has set; see `Turn.remind`.
public struct SetReminder<Action: Sendable>: Sendable {
    /// The id that the feature gave it.
    public var id: String
    /// The due time.
    public var due: Timestamp
    /// The action that the store performs when the reminder is due.
    public var action: Action

    /// Creates a reminder, for comparisons.
    public init(id: String, due: Timestamp, action: Action) { (self.id, self.due, self.action) = (id, due, action) }
}

extension SetReminder: Equatable where Action: Equatable {}

/// Effects of the journal and of other servers on a store.
extension TestStore {
    /// Lets each commit fail from now on, until ``allowCommits()``. Intents are rejected with the error, and their
    /// turns are undone. In the test's time, steps of launched work are retried every 250 ms, and reminders every 2 s.
    public func failCommits(
        with error: StoreError = StoreError(.unavailable, "The test lets commits fail.")
    ) {
        world?.journal.fail(error)
    }

    /// Lets commits succeed again.
    public func allowCommits() { world?.journal.fail(nil) }

    /// Changes the store's state as another server on the same journal does, without notifying this one. The next turn
    /// that is committed runs on the old state, conflicts, and runs again on the new state with the same `now` and
    /// UUIDs. The first run has no effect. An earlier turn that is refused or changes nothing sees the old state.
    ///
    /// - Parameters:
    ///   - sourceLocation: the location that a failure is reported at.
    ///   - change: changes the stored state to the other server's state.
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
            if !isThere { fail("The store is not stored yet, so no other server can change it.", sourceLocation) }
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
        }
    }
}

/// Memory, watching and disposal.
extension TestStore {
    /// Passivates the store, as a server does with an unused store. If the store must stay in memory, the test fails
    /// and lists the reasons.
    ///
    /// The store returns with the next use (an intent, a reminder, another store's turn, a watcher,
    /// ``comeBack(sourceLocation:)``). It has the state that was stored as JSON, and its bootstrap receives
    /// `.restored`.
    public func passivate(sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let world else { return }
        await settle(sourceLocation)
        let obstacles = world.session.passivate(id)
        guard !obstacles.isEmpty else { return }
        fail("The store cannot leave memory: \(obstacles.joined(separator: "; ")).", sourceLocation)
    }

    /// Loads a passivated store, as a client does that reads its state.
    public func comeBack(sourceLocation: SourceLocation = #_sourceLocation) async {
        await check(world?.open(id, for: principal), "The store did not come back", sourceLocation)
    }

    /// Adds a client that watches the store. The first one starts work that runs `whileWatched`.
    public func beginWatching(sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle(sourceLocation)
        await check(world?.beginWatching(id), "The store cannot be watched", sourceLocation)
    }

    /// Removes the client that was added last. After the last one, work continues for its grace period; see
    /// ``advance(by:sourceLocation:)``.
    public func endWatching(sourceLocation: SourceLocation = #_sourceLocation) async {
        if world?.endWatching() == false { fail("No client watches the store.", sourceLocation) }
        await settle(sourceLocation)
    }

    /// Disposes of the store, as a client does with `DELETE`. Its work is canceled, and the next use creates a new
    /// store.
    public func dispose(sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle(sourceLocation)
        await check(world?.dispose(id), "The store was not disposed of", sourceLocation)
    }

    /// Runs everything that is ready. Fails the test if the session refused the request or has not answered.
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
