import Locking
import MVI
import SessionJournal

/// One process's way to a journal that others may use as well: what is asked for is done in order but when the
/// simulation wants it, results come in any order, and anything may fail, or be done and not be heard of.
final class SimulatedJournal: Journal {
    /// What may go wrong, each with so many chances in a thousand.
    struct Trouble {
        var failure: UInt64 = 0
        var unknown: UInt64 = 0
        var conflict: UInt64 = 0

        static let none = Trouble()
    }

    private struct State {
        var random: SplitMix
        var trouble: Trouble
        /// What was asked for and is not done.
        var asked: [@Sendable (_ isLost: Bool) -> @Sendable () -> Void] = []
        /// What is done, and nobody has heard of.
        var done: [@Sendable () -> Void] = []
        var isCrashed = false
    }

    private enum Fate { case well, fails, lostButDone, lostAndNotDone, conflicts }

    private let kept: MemoryJournal
    private let state: Lock<State>

    init(_ kept: MemoryJournal, seed: UInt64, trouble: Trouble) {
        self.kept = kept
        state = Lock(State(random: SplitMix(seed: seed), trouble: trouble))
    }

    /// The process is gone: what it asked for may yet be done up to some point, and it hears of nothing.
    func crash() {
        let (asked, count) = state.withLock { state in
            state.isCrashed = true
            let asked = state.asked
            state.asked = []
            state.done = []
            return (asked, asked.isEmpty ? 0 : Int(state.random.next() % UInt64(asked.count + 1)))
        }
        for operation in asked.prefix(count) { _ = operation(false) }
    }

    func heal() { state.withLock { $0.trouble = .none } }

    /// Does the next thing that was asked for; false if there is none.
    func work() -> Bool {
        let operation = state.withLock { $0.asked.isEmpty ? nil : $0.asked.removeFirst() }
        guard let operation else { return false }
        let tell = operation(true)
        state.withLock { if !$0.isCrashed { $0.done.append(tell) } }
        return true
    }

    /// Tells one result; false if there is none.
    func tell() -> Bool {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.done.isEmpty ? nil : state.done.remove(at: Int(state.random.next() % UInt64(state.done.count)))
        }
        next?()
        return next != nil
    }

    private func ask<Value: Sendable>(
        _ done: @escaping @Sendable (Result<Value, StoreError>) -> Void,
        _ operation: @escaping @Sendable (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
    ) {
        state.withLock { state in
            guard !state.isCrashed else { return }
            let fails = state.random.next() % 1_000 < state.trouble.failure
            state.asked.append { isHeard in
                if fails, isHeard {
                    return { done(.failure(StoreError(.unavailable, "The simulation wants it."))) }
                }
                let result = Box<Result<Value, StoreError>>()
                operation { result.set($0) }
                return { if let value = result.value { done(value) } }
            }
        }
    }

    func append(_ append: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        state.withLock { state in
            guard !state.isCrashed else { return }
            let fate = Self.fate(state.random.next() % 1_000, state.random.next() & 1 == 0, state.trouble)
            let kept = kept
            state.asked.append { isHeard in
                let failure = StoreError(.unavailable, "The simulation wants it.")
                var result = AppendResult.unknown(failure)
                switch isHeard ? fate : .well {
                case .well: result = kept.append(append, done: { _ in }) ?? result
                case .fails: result = .failed(failure)
                case .conflicts: result = .conflict
                case .lostButDone:
                    // What was certainly refused is heard of.
                    let outcome = kept.append(append, done: { _ in })
                    if case .committed? = outcome { break }
                    result = outcome ?? result
                case .lostAndNotDone: break
                }
                let told = result
                return { done(told) }
            }
        }
        return nil
    }

    private static func fate(_ number: UInt64, _ coin: Bool, _ trouble: Trouble) -> Fate {
        if number < trouble.failure { return .fails }
        if number < trouble.failure + trouble.unknown { return coin ? .lostButDone : .lostAndNotDone }
        if number < trouble.failure + trouble.unknown + trouble.conflict { return .conflicts }
        return .well
    }

    var trouble: StoreError? { nil }

    func secret(done: @escaping @Sendable (Result<JournalSecret, StoreError>) -> Void) {
        ask(done) { [kept] in kept.secret(done: $0) }
    }

    func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        ask(done) { [kept] in kept.create(session, credential: credential, done: $0) }
    }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        ask(done) { [kept] in kept.change(change, done: $0) }
    }

    func bury(
        _ token: TokenHash, until: Duration, done: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        ask(done) { [kept] in kept.bury(token, until: until, done: $0) }
    }

    func remove(
        _ session: SessionKey, tombstoneUntil: Duration,
        done: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        ask(done) { [kept] in kept.remove(session, tombstoneUntil: tombstoneUntil, done: $0) }
    }

    func touch(_ touches: [SessionTouch], done: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        ask(done) { [kept] in kept.touch(touches, done: $0) }
    }

    func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int,
        done: @escaping @Sendable (Result<Int, StoreError>) -> Void
    ) {
        ask(done) { [kept] in
            kept.expire(
                lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit, done: $0)
        }
    }

    func load(
        _ token: TokenHash, now: Duration, done: @escaping @Sendable (Result<SessionLoad, StoreError>) -> Void
    ) {
        ask(done) { [kept] in kept.load(token, now: now, done: $0) }
    }

    func load(
        _ session: SessionKey, since head: SessionHead,
        done: @escaping @Sendable (Result<StoredSession?, StoreError>) -> Void
    ) {
        ask(done) { [kept] in kept.load(session, since: head, done: $0) }
    }

    func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash,
        done: @escaping @Sendable (Result<[StoredStore], StoreError>) -> Void
    ) {
        ask(done) { [kept] in kept.loadStores(features, of: session, named: token, done: $0) }
    }

    func find(_ query: SessionQuery, limit: Int, done: @escaping Done<[SessionRecord]>) {
        ask(done) { [kept] in kept.find(query, limit: limit, done: $0) }
    }

    func list(
        of subject: Subject?, before: SessionKey?, limit: Int, done: @escaping Done<[SessionOverview]>
    ) {
        ask(done) { [kept] in kept.list(of: subject, before: before, limit: limit, done: $0) }
    }

    func alarms(after: Alarm?, limit: Int, done: @escaping Done<[Alarm]>) {
        ask(done) { [kept] in kept.alarms(after: after, limit: limit, done: $0) }
    }

    func export(_ id: String, done: @escaping @Sendable (Result<SessionExport?, StoreError>) -> Void) {
        ask(done) { [kept] in kept.export(id, done: $0) }
    }

    func close() async {}
}
