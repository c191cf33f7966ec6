import Locking
import MVI
import SessionJournal

/// An intent that a turn sent to another store, after it ran.
struct ChainLink {
    let store: SessionStore
    let turn: TurnResult
}

/// The other stores of a session, as its turns use them. Only the queue's runner is here.
extension Session: Siblings {
    package func runner(of instance: String, for principal: Principal?) throws -> any StoreRunner {
        try runner(of: instance, for: principal, failures: [:])
    }

    fileprivate func runner(
        of instance: String, for principal: Principal?, failures: [String: StoreError]
    ) throws -> any StoreRunner {
        if let failure = failures[instance] { throw failure }
        let feature = try checked(instance, principal, .read)
        guard let store = core.withLock({ $0.startedStore(feature, limits: shared.limits) }) else {
            throw StoreIsAbsent(instance: instance)
        }
        return store.runner
    }

    /// The feature instance, if there is such a feature and the principal may use it.
    private func checked(_ instance: String, _ principal: Principal?, _ access: Access) throws -> FeatureID {
        guard let feature = FeatureID(instance), shared.features.definition(for: feature) != nil else {
            throw StoreError.featureNotFound
        }
        guard allows(principal, feature, access) else { throw Refusal(.forbidden, "You may not use \"\(instance)\".") }
        return feature
    }

    package func check(_ reminders: [EncodedReminder], of instance: String) throws {
        guard let feature = FeatureID(instance) else { return }
        let now = shared.time.sinceEpoch()
        let count = core.withLock { $0.reminderCount(after: reminders, of: feature) }
        if count > shared.limits.reminders {
            throw ReminderLimitExceeded(
                "The session would have \(count) reminders; \(shared.limits.reminders) are kept at most. Give those that "
                    + "replace each other the same id, and cancel those that are not needed.")
        }
        let latest = reminders.compactMap { $0.action?.due }.max() ?? now
        guard latest - now <= shared.limits.longestReminder else {
            throw ReminderLimitExceeded(
                "A reminder is kept for \(shared.limits.longestReminder.components.seconds / 86_400) days at most. Set a "
                    + "nearer one, and another when it fires.")
        }
    }

    /// How many intents and actions one turn leads to in other stores at most, and how many other stores it may need.
    private static var chainLimit: Int { 64 }

    // MARK: Turns that need other stores

    /// Runs a turn again that needs stores which were not there; nil if one has to be loaded first.
    func runAgain(_ call: TurnCall, after effects: [Effect], _ first: TurnResult) -> TurnResult? {
        var (call, turn) = (call, first)
        var failures: [String: StoreError] = [:]
        for _ in 0..<Self.chainLimit {
            guard let instance = turn.sequel?.missing else { return turn }
            switch bring(instance, for: call.principal, .read) {
            case .success(nil): return nil
            case .success: break
            case .failure(let error): failures[instance] = error
            }
            call.inputs = turn.inputs ?? call.inputs
            turn = call.run(call.context(after: effects, SiblingsWithFailures(self, failures)))
        }
        return turn.sequel?.missing == nil
            ? turn : .refused(StoreError(.failed, "The turn needs too many other stores."))
    }

    /// Has a store in memory and started, made if there is none; nil if it has to be loaded first.
    private func bring(
        _ instance: String, for principal: Principal?, _ access: Access
    ) -> Result<SessionStore?, StoreError> {
        do {
            let feature = try checked(instance, principal, access)
            switch core.withLock({ $0.find(feature, limits: shared.limits) }) {
            case .store(let store, _, let effects):
                if effects != nil || core.withLock({ $0.starting.contains(feature) }) { return .success(store) }
                switch prepare(store) {
                case .ready: return .success(store)
                case .waits: return .success(nil)
                case .gone: return .failure(.storeDisposed)
                }
            case .passive(let failure?): return .failure(failure)
            case .passive(nil):
                core.withLock { $0.awaited.append(feature) }
                return .success(nil)
            case .absent(let refusal?, _): return .failure(refusal)
            case .absent(nil, _): return .success(try make(feature, for: principal))
            }
        } catch let error as StoreError {
            return .failure(error)
        } catch let refusal as Refusal {
            return .failure(StoreError(refusal))
        } catch {
            return .failure(.featureNotFound)
        }
    }

    // MARK: Chains

    /// Runs the intents that a turn sent, and those that these send, in order: all of them are kept with it, or nothing.
    /// Nil, and all is undone, if a store has to be loaded first.
    func runChain(_ call: TurnCall, _ first: TurnResult) -> (TurnResult, [ChainLink])? {
        var stores = [call.store]
        var isKept = false
        defer { for store in stores { store.runner.endChain(isKept: isKept) } }
        var links: [ChainLink] = []
        var inputs: [TurnInputs?] = []
        let known = call.inputs?.links ?? []
        var waiting = first.sequel?.sends[...] ?? []
        while let next = waiting.popFirst() {
            guard links.count < Self.chainLimit else {
                return (first.undone(by: .chainTooLong(Self.chainLimit)), [])
            }
            let store: SessionStore
            switch bring(next.instance, for: call.principal, .send) {
            case .success(nil): return nil
            case .success(let found?): store = found
            case .failure(let error): return (first.undone(by: error), [])
            }
            store.runner.beginChain()
            stores.append(store)
            guard let run = next.run(store.runner) else { return (first.undone(by: .featureNotFound), []) }
            let link = TurnCall(
                job: call.job, store: store, intentID: call.intentID, principal: call.principal,
                inputs: known.count > links.count ? known[links.count] : first.inputs.map { TurnInputs(now: $0.now) },
                run: run, isSent: true)
            var earlier = core.withLock { core in core.work(on: store).map { core.batch.stores[$0].effects } ?? [] }
            if store === call.store { earlier += first.effects }
            for link in links where link.store === store { earlier += link.turn.effects }
            var turn = run(link.context(after: earlier))
            if turn.sequel?.missing != nil {
                guard let complete = runAgain(link, after: earlier, turn) else { return nil }
                turn = complete
            }
            links.append(ChainLink(store: store, turn: turn))
            if let trouble = turn.trouble {
                // Its own observers, and its own `onFailure`, are told of a throw.
                return (first.undone(by: trouble.error ?? .storeDisposed), [links[links.count - 1]])
            }
            inputs.append(turn.inputs)
            waiting += turn.sequel?.sends ?? []
        }
        isKept = true
        let all = (first.inputs ?? TurnInputs(now: nil)).with(links: inputs)
        return (first.with(all), links)
    }
}

/// The other stores of a session for a turn that runs again, with those that cannot be had.
private final class SiblingsWithFailures: Siblings {
    private let session: Session
    private let failures: [String: StoreError]

    init(_ session: Session, _ failures: [String: StoreError]) { (self.session, self.failures) = (session, failures) }

    func runner(of instance: String, for principal: Principal?) throws -> any StoreRunner {
        try session.runner(of: instance, for: principal, failures: failures)
    }

    func check(_ reminders: [EncodedReminder], of instance: String) throws {
        try session.check(reminders, of: instance)
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
        return effects != nil || starting.contains(feature) ? store : nil
    }

    /// Adds the turn of an intent that another turn sent.
    mutating func join(_ link: ChainLink, _ call: TurnCall, now: Duration) {
        guard let index = work(on: link.store) else { return }
        let job = FunctionJob(.steps) { _ in }
        let call = TurnCall(
            job: job, store: link.store, intentID: call.intentID, principal: call.principal, run: call.run,
            follows: true)
        join(call, link.turn, at: index, refusal: nil, links: nil, now: now)
    }
}
