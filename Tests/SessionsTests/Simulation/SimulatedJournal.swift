import Locking
import MVI
import MVITesting
import SessionJournal

/// One process's way to a journal that others may use as well: what is asked for is done in order but when the
/// simulation wants it, results come in any order, and anything may fail, or be done and not be heard of.
final class SimulatedJournal: InterposedJournal {
    /// The probabilities of faults, per thousand.
    struct Trouble {
        var failure: UInt64 = 0
        var unknown: UInt64 = 0
        var conflict: UInt64 = 0

        static let none = Trouble()
    }

    /// The callbacks for each change when it is committed.
    struct Witness: Sendable {
        var committed: @Sendable (JournalBatch) -> Void
        var changed: @Sendable (CredentialChange) -> Void
        var removed: @Sendable (SessionKey) -> Void
    }

    /// A request.
    private struct Question {
        /// Runs the request, and returns a function that delivers its result.
        let work: @Sendable (_ isHeard: Bool) -> @Sendable () -> Void
        /// Reports that the journal is closed.
        let refuse: @Sendable () -> Void
        let isRead: Bool
    }

    private struct State {
        var random: SplitMix
        var trouble: Trouble
        /// The requests that have not run.
        var asked: [Question] = []
        /// The results that were not delivered.
        var done: [@Sendable () -> Void] = []
        var isCrashed = false
        /// True if requests after a crash are answered, so that the process's tasks end.
        var isClosed = false
        /// True if changes wait while reads run.
        var isHolding = false
        /// True if rows after a head are damaged.
        var isDamaged = false
        var calls = 0
        var troubles = 0
    }

    private enum Fate { case well, fails, lostButDone, lostAndNotDone, conflicts }

    private let kept: MemoryJournal
    private let witness: Witness?
    private let state: Lock<State>

    var base: any Journal { kept }

    init(_ kept: MemoryJournal, seed: UInt64, trouble: Trouble, witness: Witness? = nil) {
        (self.kept, self.witness) = (kept, witness)
        state = Lock(State(random: SplitMix(seed: seed), trouble: trouble))
    }

    /// Ends the process: its requests may still run up to some point, and it receives nothing.
    ///
    /// - Parameter isClosedLater: true if `close` follows.
    func crash(isClosedLater: Bool = false) {
        let (asked, count) = state.withLock { state in
            state.isCrashed = true
            let asked = state.asked
            state.asked = []
            if !isClosedLater { state.done = [] }
            return (asked, asked.isEmpty ? 0 : Int(state.random.next() % UInt64(asked.count + 1)))
        }
        for question in asked.prefix(count) { _ = question.work(false) }
        if isClosedLater { state.withLock { $0.done += asked.map(\.refuse) } }
    }

    /// Answers the present and later requests of the crashed process, so that all its tasks end.
    func close() {
        let answers = state.withLock { state in
            state.isClosed = true
            defer { state.done = [] }
            return state.done
        }
        for answer in answers { answer() }
    }

    func heal() { set(.none) }

    func set(_ trouble: Trouble) { state.withLock { $0.trouble = trouble } }

    /// Holds changes, or releases them. Later requests do not run before them.
    func hold(_ isHolding: Bool) { state.withLock { $0.isHolding = isHolding } }

    /// Damages the rows after a head, or repairs them.
    func damage(_ isDamaged: Bool) { state.withLock { $0.isDamaged = isDamaged } }

    /// The number of requests, and of failed ones.
    var calls: Int { state.withLock { $0.calls } }
    var troubles: Int { state.withLock { $0.troubles } }

    /// Runs the next request; returns false if there is none.
    func work() -> Bool {
        let question = state.withLock { state -> Question? in
            let next = state.isHolding ? state.asked.firstIndex(where: \.isRead) : state.asked.indices.first
            return next.map { state.asked.remove(at: $0) }
        }
        guard let question else { return false }
        let tell = question.work(true)
        state.withLock { if !$0.isCrashed { $0.done.append(tell) } }
        return true
    }

    /// Delivers one result; returns false if there is none.
    func tell() -> Bool {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.done.isEmpty ? nil : state.done.remove(at: Int(state.random.next() % UInt64(state.done.count)))
        }
        next?()
        return next != nil
    }

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        let refuse: @Sendable () -> Void = { done(.failure(.journalClosed)) }
        let isClosed = state.withLock { state in
            guard !state.isCrashed else { return state.isClosed }
            state.calls += 1
            let fails = state.random.next() % 1_000 < state.trouble.failure
            if fails { state.troubles += 1 }
            let work: @Sendable (Bool) -> @Sendable () -> Void = { isHeard in
                if fails, isHeard {
                    return { done(.failure(StoreError(.unavailable, "The simulation wants it."))) }
                }
                let result = Box<Result<Value, StoreError>>()
                body { result.set($0) }
                return { if let value = result.value { done(value) } }
            }
            state.asked.append(Question(work: work, refuse: refuse, isRead: operation.isRead))
            return false
        }
        if isClosed { refuse() }
    }

    func append(_ append: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        let isClosed = state.withLock { state in
            guard !state.isCrashed else { return state.isClosed }
            state.calls += 1
            let coin = state.random.next()
            let fate = Self.fate(state.random.next() % 1_000, coin & 1 == 0, state.trouble)
            if fate != .well { state.troubles += 1 }
            let work: @Sendable (Bool) -> @Sendable () -> Void = { [self] isHeard in
                let unavailable = StoreError(.unavailable, "The simulation wants it.")
                var result = AppendResult.unknown(unavailable)
                switch isHeard ? fate : .well {
                case .well: result = keep(append) ?? result
                case .fails:
                    result = .failed(coin & 2 == 0 ? StoreError(.full, "The simulation wants it.") : unavailable)
                case .conflicts: result = .conflict
                case .lostButDone:
                    // A definite refusal is always delivered.
                    let outcome = keep(append)
                    if case .committed? = outcome { break }
                    result = outcome ?? result
                case .lostAndNotDone: break
                }
                let told = result
                return { done(told) }
            }
            let refuse: @Sendable () -> Void = { done(.failed(.journalClosed)) }
            state.asked.append(Question(work: work, refuse: refuse, isRead: false))
            return false
        }
        return isClosed ? .failed(.journalClosed) : nil
    }

    private func keep(_ batch: JournalBatch) -> AppendResult? {
        let result = kept.append(batch, done: { _ in })
        if case .committed? = result { witness?.committed(batch) }
        return result
    }

    private static func fate(_ number: UInt64, _ coin: Bool, _ trouble: Trouble) -> Fate {
        if number < trouble.failure { return .fails }
        if number < trouble.failure + trouble.unknown { return coin ? .lostButDone : .lostAndNotDone }
        if number < trouble.failure + trouble.unknown + trouble.conflict { return .conflicts }
        return .well
    }

    var trouble: StoreError? { nil }

    func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        perform(.change, done) { [kept, witness] done in
            kept.change(change) { result in
                if case .success = result { witness?.changed(change) }
                done(result)
            }
        }
    }

    func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        perform(.remove, done) { [kept, witness] done in
            kept.remove(session, tombstoneUntil: tombstoneUntil) { result in
                witness?.removed(session)
                done(result)
            }
        }
    }

    func load(_ session: SessionKey, since head: SessionHead, done: @escaping Done<StoredSession?>) {
        let isDamaged = state.withLock { $0.isDamaged }
        perform(.news, done) { [kept] done in
            kept.load(session, since: head) { done(isDamaged ? $0.map { $0.map(\.damaged) } : $0) }
        }
    }

    func close() async {}
}

extension StoredSession {
    /// The same with a label that no server wrote.
    fileprivate var damaged: StoredSession {
        var damaged = self
        damaged.recentHeads = damaged.recentHeads.map { SessionHead(number: $0.number + 1, nonce: $0.nonce) }
        damaged.recentHeads.append(head)
        return damaged
    }
}
