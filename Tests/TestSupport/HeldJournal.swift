import Locking
import MVI
import MVITesting
import SessionJournal

/// A journal in memory whose appends and loads a test holds, lets through, or fails.
package final class HeldJournal: InterposedJournal {
    private struct Held {
        let append: JournalBatch
        let done: @Sendable (AppendResult) -> Void
    }

    private struct State {
        var isHolding = false
        var failure: StoreError?
        var isHoldingSecrets = false
        var heldSecrets: [@Sendable (Result<JournalSecret, StoreError>) -> Void] = []
        var held: [Held] = []
        var appended = 0
        var loadFailure: StoreError?
        var losesAnswers = false
        var isHoldingLoads = false
        var isHoldingStores = false
        var isHoldingAnswers = false
        var heldLoads: [@Sendable () -> Void] = []
        var isHoldingChanges = false
        var heldChanges: [@Sendable () -> Void] = []
        var beforeBury: (@Sendable () -> Void)?
    }

    package var base: any Journal { kept }
    private let kept: MemoryJournal
    private let answer: @Sendable (HeldJournal, JournalBatch) -> AppendResult?
    private let arrived: @Sendable (JournalBatch) -> Void
    private let state = Lock(State())
    private let arrival = Gate()
    private let loadArrival = Gate()
    private let changeArrival = Gate()

    /// Creates a journal on top of one that may have other users.
    ///
    /// - Parameters:
    ///   - answer: called for each append first; a returned result is the answer, and nothing is appended.
    ///   - arrived: called for each append before its answer, and after it is held.
    package init(
        _ kept: MemoryJournal = MemoryJournal(),
        answer: @escaping @Sendable (HeldJournal, JournalBatch) -> AppendResult? = { _, _ in nil },
        arrived: @escaping @Sendable (JournalBatch) -> Void = { _ in }
    ) {
        (self.kept, self.answer, self.arrived) = (kept, answer, arrived)
    }

    /// The number of held appends.
    package var waiting: Int { state.withLock { $0.held.count } }
    /// The number of held loads.
    package var waitingLoads: Int { state.withLock { $0.heldLoads.count } }
    /// The number of received appends, including held and failed ones.
    package var appended: Int { state.withLock { $0.appended } }

    /// Holds every append from now on.
    package func hold() { state.withLock { $0.isHolding = true } }

    /// Returns when the first append is held.
    package func untilHeld() async throws { try await arrival.wait() }

    /// Fails every write from now on; nil ends that.
    package func fail(_ code: StoreError.Code?) {
        state.withLock { $0.failure = code.map { StoreError($0, "A test wants it so.") } }
    }

    /// Fails every read from now on; nil ends that.
    package func failLoads(_ code: StoreError.Code?) {
        state.withLock { $0.loadFailure = code.map { StoreError($0, "A test wants it so.") } }
    }

    /// Holds every load of a session or a store from now on.
    package func holdLoads() { state.withLock { $0.isHoldingLoads = true } }

    /// Holds every load of stores from now on, but no load of a session.
    package func holdStores() { state.withLock { $0.isHoldingStores = true } }

    /// Runs every load at once from now on, and holds its answer.
    package func holdLoadAnswers() { state.withLock { $0.isHoldingAnswers = true } }

    /// Calls `action` before it next stores an ended session.
    package func beforeNextBury(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.beforeBury = action } }

    /// Returns when the first load is held.
    package func untilLoadHeld() async throws { try await loadArrival.wait() }

    /// Runs the held loads and stops holding.
    package func releaseLoads() {
        let held = state.withLock { state in
            defer { state.heldLoads = [] }
            (state.isHoldingLoads, state.isHoldingStores, state.isHoldingAnswers) = (false, false, false)
            return state.heldLoads
        }
        for load in held { load() }
    }

    /// Holds every change of credentials from now on.
    package func holdChanges() { state.withLock { $0.isHoldingChanges = true } }

    /// The number of held changes of credentials.
    package var waitingChanges: Int { state.withLock { $0.heldChanges.count } }

    /// Returns when the first change of credentials is held.
    package func untilChangeHeld() async throws { try await changeArrival.wait() }

    /// Runs the held changes and stops holding.
    package func releaseChanges() {
        let held = state.withLock { state in
            defer { state.heldChanges = [] }
            state.isHoldingChanges = false
            return state.heldChanges
        }
        for change in held { change() }
    }

    /// Runs a load now, or when it is released.
    private func load<Value: Sendable>(
        isOfStores: Bool = false, _ done: @escaping @Sendable (Result<Value, StoreError>) -> Void,
        _ action: @escaping @Sendable (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
    ) {
        let (failure, isHeld, holdsAnswer) = state.withLock { state -> (StoreError?, Bool, Bool) in
            if let failure = state.loadFailure { return (failure, false, false) }
            let isHeld = state.isHoldingLoads || isOfStores && state.isHoldingStores
            if isHeld { state.heldLoads.append { action(done) } }
            return (nil, isHeld, state.isHoldingAnswers)
        }
        if let failure { return done(.failure(failure)) }
        if holdsAnswer {
            return action { [state] result in state.withLock { $0.heldLoads.append { done(result) } } }
        }
        if isHeld { loadArrival.open() } else { action(done) }
    }

    /// Ends the oldest held append: commits it unless `result` is given.
    package func releaseOne(_ result: AppendResult? = nil) {
        let next = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        if let next { next.done(result ?? commit(next.append)) }
    }

    /// Commits the oldest held append without reporting it; the next `releaseOne` reports `failure`.
    package func commitUnheard(_ failure: StoreError) {
        let next = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        guard let next else { return }
        _ = commit(next.append)
        next.done(.unknown(failure))
    }

    /// Stops holding new appends; held ones stay held.
    package func letPass() { state.withLock { $0.isHolding = false } }

    /// Commits the held appends and stops holding.
    package func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for next in held { next.done(commit(next.append)) }
    }

    /// Disposes of a store as another server on the same journal does.
    package func disposeElsewhere(_ feature: String, of session: String) {
        changeElsewhere(session) { head, stores in
            guard let feature = FeatureID(feature),
                let store = stores.first(where: { $0.summary.feature == feature })?.summary
            else { return nil }
            return StoreChange(
                feature: feature, kind: .disposed, number: head, version: store.version, made: store.made)
        }
    }

    /// Changes a store as another server on the same journal does, or makes it.
    package func writeElsewhere(_ feature: FeatureID, of session: String, state: [UInt8], view: [UInt8]) {
        changeElsewhere(session) { head, stores in
            let store = stores.first { $0.summary.feature == feature }?.summary
            return StoreChange(
                feature: feature, kind: store == nil ? .made : .changed, number: head, version: head,
                made: store?.made ?? head, schemaVersion: 1, state: state, view: view)
        }
    }

    private func changeElsewhere(
        _ session: String, _ change: @escaping @Sendable (_ head: UInt64, [StoredStore]) -> StoreChange?
    ) {
        kept.export(session) { [kept] result in
            guard case .success(let export?) = result else { return }
            let head = export.session.head
            let next = SessionHead(number: head.number + 1, nonce: .random(in: .min ... .max))
            guard let change = change(next.number, export.stores) else { return }
            let batch = JournalBatch(
                session: export.session.key, expecting: head, head: next, time: export.session.record.lastSeen,
                stores: [change])
            guard case .committed? = kept.append(batch, done: { _ in }) else { preconditionFailure("not changed") }
        }
    }

    private func commit(_ append: JournalBatch) -> AppendResult {
        guard let result = kept.append(append, done: { _ in }) else {
            preconditionFailure("a memory journal answers at once")
        }
        return result
    }

    package var trouble: StoreError? { state.withLock { $0.failure } }

    package func append(_ append: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        if let result = answer(self, append) {
            arrived(append)
            return result
        }
        let (failure, isHeld) = state.withLock { state -> (StoreError?, Bool) in
            state.appended += 1
            if let failure = state.failure { return (failure, false) }
            if state.isHolding { state.held.append(Held(append: append, done: done)) }
            return (nil, state.isHolding)
        }
        arrived(append)
        if let failure { return .failed(failure) }
        guard isHeld else { return commit(append) }
        arrival.open()
        return nil
    }

    package func secret(done: @escaping @Sendable (Result<JournalSecret, StoreError>) -> Void) {
        if let trouble { return done(.failure(trouble)) }
        let isHeld = state.withLock { state in
            if state.isHoldingSecrets { state.heldSecrets.append(done) }
            return state.isHoldingSecrets
        }
        if !isHeld { kept.secret(done: done) }
    }

    /// Stops answering requests for the secret.
    package func holdSecrets() { state.withLock { $0.isHoldingSecrets = true } }

    /// Answers the held requests.
    package func releaseSecrets() {
        let held = state.withLock { state in
            defer { state.heldSecrets = [] }
            state.isHoldingSecrets = false
            return state.heldSecrets
        }
        for done in held { kept.secret(done: done) }
    }

    package func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        switch operation {
        case .load, .news, .find, .list, .alarms: load(done, body)
        case .stores: load(isOfStores: true, done, body)
        case .export, .visits: body(done)
        case .secret, .create, .change, .bury, .remove, .forget, .record, .touch, .expire, .reclaim:
            if let trouble { done(.failure(trouble)) } else { body(done) }
        }
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        if let trouble { return done(.failure(trouble)) }
        let (isHeld, isLost) = state.withLock { state in
            if state.isHoldingChanges { state.heldChanges.append { [kept] in kept.change(change, done: done) } }
            return (state.isHoldingChanges, state.losesAnswers)
        }
        if isHeld { return changeArrival.open() }
        kept.change(change) { result in
            done(isLost ? .failure(StoreError(.unavailable, "A test wants the answer lost.")) : result)
        }
    }

    /// Applies changes of credentials from now on but reports failure, as if the process ended before the answer.
    package func loseAnswers() { state.withLock { $0.losesAnswers = true } }

    package func bury(
        _ token: TokenHash, until: Duration, done: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        state.withLock { $0.beforeBury.take() }?()
        if let trouble { done(.failure(trouble)) } else { kept.bury(token, until: until, done: done) }
    }
}
