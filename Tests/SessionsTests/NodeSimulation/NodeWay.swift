import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport

/// One node's access to the shared journal: requests arrive in order at times that the simulation chooses, answers come
/// in any order, and either may be lost.
final class NodeWay: SharedJournal, InterposedJournal {
    /// The direction that is cut.
    enum Cut: Sendable {
        case nothing, requests, answers
    }

    private struct State {
        var random: SplitMix
        var cut = Cut.nothing
        /// The number of lost requests per thousand, half of them after they were executed.
        var loss: UInt64
        /// True if requests that seemed lost may arrive later.
        var isSlow: Bool
        /// The requests that have not arrived, with the session whose row they need.
        var asked: [(session: SessionKey?, operation: @Sendable (Fate) -> Answer)] = []
        /// The session whose row another transaction holds.
        var locked: SessionKey?
        /// The pending requests that seemed lost.
        var late: [@Sendable () -> Void] = []
        /// The answers that the node has not received.
        var answers: [@Sendable () -> Void] = []
        var news: [JournalNews] = []
        var heard: (@Sendable (JournalNews) -> Void)?
        var isCrashed = false
        var troubles = 0
        /// The number of calls by name.
        var calls: [String: Int] = [:]
    }

    private enum Fate { case well, requestLost, answerLost, refused }

    private struct Answer {
        let tell: @Sendable () -> Void
        var later: (@Sendable () -> Void)?
    }

    var base: any Journal { kept }
    private let kept: NodeJournal
    private let log: any CommitWitness
    private let state: Lock<State>
    /// The index of the node's life.
    let life: Int
    /// The newest schema version that the node reads.
    private let build: Int

    init(_ kept: NodeJournal, _ log: any CommitWitness, life: Int, build: Int, seed: UInt64, loss: UInt64, isSlow: Bool)
    {
        (self.kept, self.log, self.life, self.build) = (kept, log, life, build)
        state = Lock(State(random: SplitMix(seed: seed), loss: loss, isSlow: isSlow))
        kept.listen { [weak self] news in self?.hear(news) }
    }

    private static let lost = StoreError(.unavailable, "The simulation lost it.")

    // MARK: Controls of the simulation

    /// The number of calls by name.
    var calls: [String: Int] { state.withLock { $0.calls } }

    /// The number of losses.
    var troubles: Int { state.withLock { $0.troubles } }

    /// Locks a session's row for another transaction, or unlocks it. Requests that need it wait; others pass them.
    func lock(_ session: SessionKey?) { state.withLock { $0.locked = session } }

    func cut(_ cut: Cut) { state.withLock { $0.cut = cut } }

    var isCut: Bool { state.withLock { $0.cut != .nothing } }

    /// Ends all losses.
    func heal() {
        state.withLock {
            $0.cut = .nothing
            $0.loss = 0
            $0.isSlow = false
        }
    }

    /// Ends the process: its requests may still arrive up to some point, and it receives nothing.
    func crash() {
        let (asked, count) = state.withLock { state in
            state.isCrashed = true
            let asked = state.asked
            let count = state.cut == .nothing && !asked.isEmpty ? Int(state.random.next() % UInt64(asked.count + 1)) : 0
            (state.asked, state.late, state.answers, state.news, state.heard) = ([], [], [], [], nil)
            return (asked, count)
        }
        for asked in asked.prefix(count) { _ = asked.operation(.well) }
    }

    /// Delivers or loses the next request; returns false if there is none.
    func arrive() -> Bool {
        let (operation, fate) = state.withLock { state -> ((@Sendable (Fate) -> Answer)?, Fate) in
            let free = state.asked.firstIndex { asked in asked.session == nil || asked.session != state.locked }
            // No request waits for a row forever.
            let isTired = free == nil && !state.asked.isEmpty && state.random.next() % 16 == 0
            if isTired { return (state.asked.removeFirst().operation, .refused) }
            guard let free else { return (nil, .well) }
            var fate = Fate.well
            switch state.cut {
            case .nothing:
                if state.random.next() % 1_000 < state.loss {
                    fate = state.random.next() % 2 == 0 ? .requestLost : .answerLost
                }
            case .requests: fate = .requestLost
            case .answers: fate = .answerLost
            }
            if fate != .well { state.troubles += 1 }
            return (state.asked.remove(at: free).operation, fate)
        }
        guard let operation else { return false }
        let answer = operation(fate)
        state.withLock { state in
            guard !state.isCrashed else { return }
            state.answers.append(answer.tell)
            if let later = answer.later, state.isSlow, state.random.next() % 2 == 0 { state.late.append(later) }
        }
        return true
    }

    /// Delivers a request that seemed lost.
    func arriveLate() {
        let operation = state.withLock { state in
            state.late.isEmpty || state.cut != .nothing
                ? nil : state.late.remove(at: Int(state.random.next() % UInt64(state.late.count)))
        }
        operation?()
    }

    /// Delivers one answer to the node; returns false if there is none.
    func tell() -> Bool {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.answers.isEmpty
                ? nil : state.answers.remove(at: Int(state.random.next() % UInt64(state.answers.count)))
        }
        next?()
        return next != nil
    }

    /// Delivers some notifications to the node; returns false if there are none.
    func tellNews() -> Bool {
        let (news, heard) = state.withLock { state -> (JournalNews?, (@Sendable (JournalNews) -> Void)?) in
            guard !state.news.isEmpty else { return (nil, nil) }
            let index = Int(state.random.next() % UInt64(state.news.count))
            // Some come twice.
            let isDoubled = state.random.next() % 10 == 0
            return (isDoubled ? state.news[index] : state.news.remove(at: index), state.heard)
        }
        if let news { heard?(news) }
        return news != nil
    }

    /// Simulates a lost connection for notifications.
    func interrupt() { state.withLock { $0.heard }?(.interrupted) }

    private func hear(_ news: JournalNews) {
        state.withLock { state in
            guard !state.isCrashed, state.cut == .nothing, state.random.next() % 1_000 >= 5 * state.loss else { return }
            state.news.append(news)
        }
    }

    // MARK: Requests of the node

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        ask(done, name: "\(operation)", body)
    }

    private func ask<Value: Sendable>(
        _ done: @escaping Done<Value>, name: String = #function,
        _ operation: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        state.withLock { state in
            guard !state.isCrashed else { return }
            state.calls[name, default: 0] += 1
            state.asked.append(
                (
                    nil,
                    { fate in
                        let failed = Answer(tell: { done(.failure(Self.lost)) })
                        if fate == .requestLost || fate == .refused { return failed }
                        let result = Box<Result<Value, StoreError>>()
                        operation { result.set($0) }
                        if fate == .answerLost { return failed }
                        return Answer(tell: { if let value = result.value { done(value) } })
                    }
                ))
        }
    }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        state.withLock { state in
            guard !state.isCrashed else { return }
            let write: @Sendable () -> AppendResult = { [kept, log, life, build] in
                let before = log.before(batch)
                let result = kept.append(batch, done: { _ in }) ?? .unknown(Self.lost)
                if case .committed = result { log.committed(batch, before, life: life, build: build) }
                return result
            }
            state.asked.append(
                (
                    batch.session,
                    { fate in
                        switch fate {
                        case .refused: return Answer(tell: { done(.failed(Self.lost)) })
                        case .well:
                            let result = write()
                            return Answer(tell: { done(result) })
                        case .answerLost:
                            _ = write()
                            return Answer(tell: { done(.unknown(Self.lost)) })
                        case .requestLost: return Answer(tell: { done(.unknown(Self.lost)) }, later: { _ = write() })
                        }
                    }
                ))
        }
        return nil
    }

    var trouble: StoreError? { nil }

    func close() async {}

    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) { state.withLock { $0.heard = heard } }

    func tellContention(of session: SessionKey) {
        ask({ _ in }) { [kept] (done: @escaping Done<Void>) in
            kept.tellContention(of: session)
            done(.success(()))
        }
    }

    func marks(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionMark]>) {
        ask(done) { [kept] in kept.marks(of: sessions, done: $0) }
    }

    func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>) {
        ask(done) { [kept] in kept.areKnown(tokens, done: $0) }
    }

    func join(_ node: NodeRecord, done: @escaping Done<[NodeRecord]>) {
        ask(done) { [kept, log, life] in
            log.joined(node.id, life: life)
            kept.join(node, done: $0)
        }
    }

    func renew(_ node: NodeRecord, done: @escaping Done<NodeRenewal?>) {
        ask(done) { [kept] in kept.renew(node, done: $0) }
    }

    func forget(_ node: NodeID, renewals: UInt64?, done: @escaping Done<Bool>) {
        ask(done) { [kept, log] done in
            kept.forget(node, renewals: renewals) { result in
                if case .success(true) = result { log.forgot(node) }
                done(result)
            }
        }
    }

    func orphans(limit: Int, done: @escaping Done<[OrphanedSession]>) {
        ask(done) { [kept] in kept.orphans(limit: limit, done: $0) }
    }

    func noteStreams(
        _ count: Int, of session: SessionKey, on node: NodeID, limit: Int?, done: @escaping Done<Bool>
    ) {
        ask(done) { [kept] in kept.noteStreams(count, of: session, on: node, limit: limit, done: $0) }
    }

    func claimAlarms(
        dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int,
        done: @escaping Done<(due: [Alarm], next: Duration?)>
    ) {
        ask(done) { [kept] in kept.claimAlarms(dueAt: now, by: node, for: life, limit: limit, done: $0) }
    }
}
