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
    func runner(of instance: String, for principal: Principal?) throws -> any StoreRunner {
        let feature = try checked(instance, principal, .read)
        guard let store = core.withLock({ $0.startedStore(feature, limits: shared.limits) }) else {
            throw StoreIsAbsent(instance: instance)
        }
        return store.runner
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
        guard let feature = FeatureID(instance), shared.features.definition(for: feature) != nil else {
            throw StoreError.featureNotFound
        }
        guard allows(principal, feature, access) else { throw Refusal(.forbidden, "You may not use \"\(instance)\".") }
        return feature
    }

    /// See `TurnHost`.
    func check(_ reminders: [EncodedReminder], of feature: FeatureID) throws {
        let now = shared.time.sinceEpoch()
        let count = core.withLock { $0.reminderCount(after: reminders, of: feature) }
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

    /// The maximum number of intents and actions in other stores from one turn, and of other stores it may need.
    private static var chainLimit: Int { 64 }

    // MARK: Turns that need other stores

    /// Runs a turn again that needs stores which were not in memory; nil if one has to be loaded first. Interceptors
    /// judged its intent already.
    func runAgain(_ call: inout TurnCall, _ first: TurnResult) -> TurnResult? {
        var turn = first
        for _ in 0..<Self.chainLimit {
            guard case .needsStore(let instance) = turn.outcome else { return turn }
            call.note(turn)
            switch bring(instance, for: call, .read) {
            case .store: break
            case .waits: return nil
            case .none(let error, _):
                call.context = call.context.with(failures: call.context.failures.merging([instance: error]) { $1 })
            }
            turn = call.run(call.store.runner, call.context)
        }
        guard case .needsStore = turn.outcome else { return turn }
        return turn.undone(call.failed(StoreError(.failed, "The turn needs too many other stores.")))
    }

    /// A store that a turn needs.
    private enum Sibling {
        case store(SessionStore)
        /// It has to be loaded first.
        case waits
        case none(StoreError, TurnOutcome)
    }

    /// Has a store in memory and started, created if there is none.
    private func bring(_ instance: String, for call: TurnCall, _ access: Access) -> Sibling {
        func none(_ error: StoreError) -> Sibling { .none(error, .unavailable(error)) }
        let feature: FeatureID
        do {
            feature = try checked(instance, call.context.principal, access)
        } catch let refusal as Refusal {
            return .none(StoreError(refusal), .refused(StoreError(refusal)))
        } catch {
            return none(.featureNotFound)
        }
        switch core.withLock({ $0.find(feature, limits: shared.limits) }) {
        case .store(let store, _, let effects):
            if effects != nil || core.withLock({ $0.isStarting(feature) }) { return .store(store) }
            switch prepare(store) {
            case .ready: return .store(store)
            case .waits: return .waits
            case .gone: return none(.storeDisposed)
            }
        case .passive(let failure?):
            core.withLock { $0.makeRare().loads.noteTold(feature) }
            return none(failure)
        case .passive(nil):
            core.withLock { $0.makeRare().awaited.append(feature) }
            return .waits
        case .absent(let refusal?, _): return .none(refusal, call.failed(refusal))
        case .absent(nil, _):
            do throws(StoreError) {
                return try make(feature, for: call.context.principal).map { .store($0) } ?? .waits
            } catch {
                return .none(error, error.failure == nil ? .refused(error) : call.failed(error))
            }
        }
    }

    // MARK: Chains

    /// Runs the intents that a turn sent, and those that these send, in order. All are committed with it, or none.
    /// Returns nil, and undoes all, if a store has to be loaded first.
    func runChain(_ call: TurnCall, _ first: TurnResult) -> (TurnResult, [ChainLink])? {
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
        var waiting = first.sends[...]
        while let next = waiting.popFirst() {
            guard links.count < Self.chainLimit else {
                return (first.undone(call.failed(.chainTooLong(Self.chainLimit))), [])
            }
            let store: SessionStore
            switch bring(next.instance, for: call, .send) {
            case .store(let found): store = found
            case .waits: return nil
            case .none(_, let outcome): return (first.undone(outcome), [])
            }
            store.runner.beginChain()
            stores.append(store)
            let knownInputs =
                known.count > links.count ? known[links.count] : first.inputs.map { TurnInputs(now: $0.now) }
            var earlier = core.withLock { core in core.work(on: store).map { core.batch.entries[$0].effects } ?? [] }
            if store === call.store { earlier += first.effects }
            for link in links where link.store === store { earlier += link.turn.effects }
            let context = TurnContext(
                call.context.intentID, store, principal: call.context.principal, earlier: earlier, inputs: knownInputs,
                isSent: true)
            var turn = next.run(store.runner, context)
            if case .needsStore = turn.outcome {
                var link = TurnCall(job: call.job, store: store, context: context, run: next.run)
                guard let complete = runAgain(&link, turn) else { return nil }
                turn = complete
            }
            links.append(ChainLink(store: store, turn: turn))
            if let outcome = call.outcome(of: turn) {
                // Its own observers and its own `onFailure` are told of a failure.
                return (first.undone(outcome), [links[links.count - 1]])
            }
            core.withLock { $0.noteChain(turn.reminders, of: store.feature) }
            inputs.append(turn.inputs)
            waiting += turn.sends
        }
        isKept = true
        let all = (first.inputs ?? TurnInputs(now: nil)).with(links: inputs)
        return (TurnResult(first, judged: first.judged, inputs: all), links)
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
    fileprivate static func chainTooLong(_ limit: Int) -> StoreError {
        StoreError(.failed, "The turn led to more than \(limit) intents and actions in other stores.")
    }
}

extension SessionCore {
    /// A feature instance's store if a turn may use it at this point of the batch.
    fileprivate mutating func startedStore(_ feature: FeatureID, limits: SessionLimits) -> SessionStore? {
        guard case .store(let store, _, let effects) = find(feature, limits: limits) else { return nil }
        return effects != nil || isStarting(feature) ? store : nil
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
        for change in reminders ?? [] { makeRare().chainReminders.append(ReminderChange(change, of: feature)) }
    }
}

extension ReminderChange {
    /// A change as it will be stored.
    init(_ change: EncodedReminder, of feature: FeatureID, number: UInt64 = 0) {
        guard let action = change.action else {
            self = .forgotten(feature, id: change.id)
            return
        }
        self = .set(
            StoredReminder(feature: feature, id: change.id, due: action.due, number: number, action: action.json))
    }
}
