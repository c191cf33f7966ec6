import Locking
import MVI
import SessionJournal

/// An intent that a turn sent to another store, after it ran.
struct ChainLink {
    let store: SessionStore
    let turn: TurnResult
}

/// Access of a session's turns to its other stores. Used only by the queue's runner.
extension Session {
    /// See `TurnHost`.
    func runner(of instance: String, for principal: Principal?, isAtOnce: Bool) throws -> any StoreRunner {
        let feature = try checked(instance, principal, .read)
        let lives = lives
        guard let (store, effects) = core.withLock({ $0.startedStore(feature, shared.limits, lives) }) else {
            throw StoreIsAbsent(instance: instance)
        }
        if !isAtOnce, store.isObserving || !effects.isEmpty {
            let isAwaited = store.awaitsResult || effects.contains { $0.request?.isObservation == true }
            if isAwaited, mayWait { throw StoreIsAbsent(instance: instance) }
        }
        return store.runner
    }

    /// True if the running job may wait for observations of stores that it reads.
    private var mayWait: Bool {
        guard let deadline = core.withLock({ $0.rare?.readingDeadline }) else { return true }
        return shared.time.monotonic() < deadline
    }

    /// See `TurnHost`.
    func number(of instance: String) -> UInt64 {
        guard let feature = FeatureID(instance) else { return 0 }
        return core.withLock { core in
            let change = core.batch.index(of: feature).flatMap { core.batch.entries[$0].change }
            return change.map { core.batch.changes[$0].number } ?? core.stores[feature]?.summary.number ?? 0
        }
    }

    /// Returns the feature instance if the feature exists and the principal may use it.
    private func checked(_ instance: String, _ principal: Principal?, _ access: Access) throws -> FeatureID {
        guard let feature = FeatureID(instance), shared.features.definition(for: feature, in: space) != nil else {
            throw StoreError.featureNotFound
        }
        guard allows(principal, feature, access) else { throw Refusal(.forbidden, "You may not use \"\(instance)\".") }
        return feature
    }

    /// See `TurnHost`.
    func check(_ reminders: [EncodedReminder], of feature: FeatureID) throws {
        let now = shared.time.sinceEpoch()
        let (count, messages) = core.withLock { $0.reminderCounts(after: reminders, of: feature) }
        if messages > Message.limit {
            let own = reminders.count { $0.message != nil }
            if own > Message.limit {
                throw ReminderLimitExceeded(
                    "The turn tells \(own) messages; \(Message.limit) of a session may wait. Tell less, or in several turns."
                )
            }
            // A test of a feature has no receivers.
            if shared.post != nil { throw StoreError.tooManyMessages(messages - own) }
        }
        if count > shared.limits.reminders {
            throw ReminderLimitExceeded(
                "The session would have \(count) reminders; \(shared.limits.reminders) are allowed. Use one id for "
                    + "reminders that replace each other, and cancel unneeded ones.")
        }
        let latest = reminders.compactMap { $0.action?.due }.max() ?? now
        guard latest - now <= shared.limits.longestReminder else {
            throw ReminderLimitExceeded(
                "A reminder may be at most \(shared.limits.longestReminder.components.seconds / 86_400) days ahead. "
                    + "Set an earlier one, and another when it fires.")
        }
    }

    // MARK: Chains

    /// A store that a turn needs.
    enum Sibling {
        case ready(SessionStore)
        case needs(Need)
        /// It is not available: the error for a turn that reads it, and the outcome of one that sends to it.
        case none(StoreError, TurnOutcome)
    }

    /// Looks up a store that a turn reads or sends to.
    func sibling(_ instance: String, for call: TurnCall, _ access: Access) -> Sibling {
        let feature: FeatureID
        do {
            feature = try checked(instance, call.context.principal, access)
        } catch let refusal as Refusal {
            return .none(StoreError(refusal), .refused(StoreError(refusal)))
        } catch {
            return .none(.featureNotFound, .unavailable(.featureNotFound))
        }
        let lives = lives
        let (found, starts) = core.withLock { core in
            let found = core.find(feature, limits: shared.limits, lives)
            return (found, core.batch.index(of: feature).map { core.batch.entries[$0].starts } ?? 0)
        }
        switch found {
        case .store(let store, _, let effects):
            if effects != nil || access == .read && starts > 0 { return .ready(store) }
            // Twice: its start waits for a store whose start reads it, which does not wait.
            guard starts < 2 else {
                return .none(.startsWait(for: instance), call.failed(.startsWait(for: instance)))
            }
            return .needs(.start(store))
        case .passive(let failure?):
            core.withLock { $0.makeRare().loads.noteTold(feature) }
            return .none(failure, .unavailable(failure))
        case .passive(nil): return .needs(.load(feature))
        case .absent(let refusal?, _): return .none(refusal, call.failed(refusal))
        case .absent(nil, _):
            if let outcome = call.notMade[instance] { return .none(outcome.error ?? .storeDisposed, outcome) }
            return .needs(.creation(feature))
        }
    }

    /// The need of a turn that could not read a store.
    func need(of instance: String, for call: TurnCall) -> Need {
        switch sibling(instance, for: call, .read) {
        case .ready(let store): .observed(store)
        case .needs(let need): need
        case .none(let error, _): .store(error, instance)
        }
    }

    /// Runs the intents that a turn sent, and those that these send, in order. All are committed with it, or none.
    func chain(_ call: inout TurnCall, _ first: TurnResult) -> Attempt {
        var stores = [call.store]
        var isKept = false
        core.withLock { $0.noteChain(first.reminders, of: call.store.feature) }
        defer {
            core.withLock { $0.rare?.chainReminders = [] }
            for store in stores { store.runner.endChain(isKept: isKept) }
        }
        var links: [ChainLink] = []
        var inputs: [TurnInputs?] = []
        let known = call.context.inputs?.links ?? []
        func undone(_ outcome: TurnOutcome, _ links: [ChainLink] = []) -> Attempt {
            .complete(first.undone(outcome), links)
        }
        var waiting = first.sends[...]
        while let next = waiting.popFirst() {
            guard links.count < Self.chainLimit else { return undone(call.failed(.chainTooLong(Self.chainLimit))) }
            let store: SessionStore
            switch sibling(next.instance, for: call, .send) {
            case .ready(let found): store = found
            case .needs(let need):
                guard call.rounds <= Self.chainLimit else { return undone(call.failed(.tooManyStores)) }
                call.note(first, inputs)
                return .needs(need)
            case .none(_, let outcome): return undone(outcome)
            }
            store.runner.beginChain(isFirst: false)
            stores.append(store)
            let knownInputs =
                known.count > links.count ? known[links.count] : first.inputs.map { TurnInputs(now: $0.now) }
            var earlier = core.withLock { core in core.work(on: store).map { core.batch.entries[$0].effects } ?? [] }
            if store === call.store { earlier += first.effects }
            for link in links where link.store === store { earlier += link.turn.effects }
            var context = TurnContext(
                call.context.intentID, store, principal: call.context.principal, earlier: earlier, inputs: knownInputs,
                failures: call.context.failures, isSent: true, sender: call.context.sender,
                settings: call.context.client.settings, origin: call.context.client.origin,
                message: call.context.message)
            if call.context.readsAtOnce { context = context.readingAtOnce }
            let turn = next.run(store.runner, context)
            inputs.append(turn.inputs)
            if case .needsStore(let instance) = turn.outcome {
                guard call.rounds <= Self.chainLimit else { return undone(call.failed(.tooManyStores)) }
                call.note(first, inputs)
                return .needs(need(of: instance, for: call))
            }
            links.append(ChainLink(store: store, turn: turn))
            // Its own observers and its own `onFailure` are told of a failure.
            if let outcome = call.outcome(of: turn) { return undone(outcome, [links[links.count - 1]]) }
            core.withLock { $0.noteChain(turn.reminders, of: store.feature) }
            waiting += turn.sends
        }
        isKept = true
        let all = (first.inputs ?? TurnInputs(now: nil)).with(links: inputs)
        return .complete(TurnResult(first, judged: first.judged, inputs: all), links)
    }
}

extension TurnCall {
    /// The outcome of a turn that cannot be committed for a reason which its code could have avoided.
    func failed(_ error: StoreError) -> TurnOutcome {
        .failed(error, thrown: error, report(error))
    }

    private func report(_ error: any Error) -> Failure? {
        stage.map { Failure(stage: $0, intentID: context.intentID, error: error) }
    }

    /// The outcome of a turn whose chain ends with a link; nil if the chain goes on.
    fileprivate func outcome(of link: TurnResult) -> TurnOutcome? {
        switch link.outcome {
        case .ran: nil
        case .refused(let error), .unjudged(let error, _): .refused(error)
        case .failed(let error, let thrown, _): .failed(error, thrown: thrown, report(thrown))
        case .unavailable(let error), .elsewhere(let error): .unavailable(error)
        case .needsStore, .dropped, .replayed: .unavailable(.storeDisposed)
        }
    }
}

extension StoreError {
    static let tooManyStores = StoreError(.failed, "The turn needs too many other stores.")

    fileprivate static func startsWait(for instance: String) -> StoreError {
        StoreError(
            .failed, "The start of \"\(instance)\" waits for itself: it sends to a store whose start sends to it.")
    }

    fileprivate static func chainTooLong(_ limit: Int) -> StoreError {
        StoreError(.failed, "The turn led to more than \(limit) intents and actions in other stores.")
    }
}

extension SessionCore {
    /// A feature instance's store if a turn may use it at this point of the batch, and the effects of the batch's turns.
    fileprivate mutating func startedStore(
        _ feature: FeatureID, _ limits: SessionLimits, _ lives: StoreLives
    ) -> (SessionStore, [Effect])? {
        guard case .store(let store, _, let effects) = find(feature, limits: limits, lives) else { return nil }
        let isStarting = batch.index(of: feature).map { batch.entries[$0].starts > 0 } ?? false
        return effects != nil || isStarting ? (store, effects ?? []) : nil
    }

    /// Counts a start of a store that begins, or is given up. Returns the pending start.
    mutating func begins(_ store: SessionStore, by difference: Int) -> StoreSlot.Start {
        guard let index = work(on: store) else { return .done }
        batch.entries[index].starts += difference
        return start(at: index)
    }

    /// Adds the turn of an intent that another turn sent.
    mutating func join(_ link: ChainLink, _ call: TurnCall, now: Duration) {
        guard let index = work(on: link.store) else { return }
        let verdict = TurnVerdict(.ordinary, link.turn.outcome, isLastTry: false)
        let call = TurnCall(
            job: FunctionJob(.steps) { _ in }, store: link.store, context: call.context, run: call.run, follows: true)
        join(call, link.turn, verdict, at: index, refusal: nil, now: now)
    }

    /// Adds the reminders of a turn of the running chain, which are in no batch yet.
    mutating func noteChain(_ reminders: [EncodedReminder]?, of feature: FeatureID) {
        guard let reminders else { return }
        makeRare().chainReminders += reminders.changes(of: feature, number: 0, epoch: "")
    }
}

extension [EncodedReminder] {
    /// The changes as they will be stored with the turn of that number.
    func changes(of feature: FeatureID, number: UInt64, epoch: String) -> [ReminderChange] {
        var messages = 0
        return map { change in
            guard let action = change.action else { return .forgotten(feature, id: change.id) }
            guard let message = change.message else {
                return .set(
                    StoredReminder(
                        feature: feature, id: change.id, due: action.due, number: number, action: action.json))
            }
            defer { messages += 1 }
            return .set(
                Message.stored(
                    message, of: feature, number: number, index: messages, epoch: epoch, due: action.due,
                    action: action.json))
        }
    }
}

extension ReminderChange {
    /// True if it adds a message.
    var tells: Bool { if case .set(let stored) = self { Message.names(stored) } else { false } }
}
