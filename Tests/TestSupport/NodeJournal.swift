import Locking
import MVI
import MVITesting
import SessionJournal

/// One node's way to a journal that other nodes use as well: all of them in one process.
package final class NodeJournal: SharedJournal, InterposedJournal {
    /// The medium of news between nodes, and the storage of nodes' data.
    package final class Cluster: Sendable {
        fileprivate struct State {
            var nodes: [NodeID: NodeRecord] = [:]
            /// Open streams of each session by node.
            var streams: [SessionKey: [NodeID: Int]] = [:]
            var claims: [Alarm: (node: NodeID, until: Duration)] = [:]
        }

        fileprivate let listeners = Lock<[(node: ObjectIdentifier, heard: @Sendable (JournalNews) -> Void)]>([])
        fileprivate let state = Lock(State())
        private let losesNews = Lock(false)

        public init() {}

        /// Drops all notifications, or delivers them again.
        public func lose(_ losesNews: Bool) { self.losesNews.withLock { $0 = losesNews } }

        fileprivate func tell(_ news: JournalNews, from node: NodeJournal) {
            guard !losesNews.withLock({ $0 }) else { return }
            let others = listeners.withLock { $0.filter { $0.node != ObjectIdentifier(node) } }
            for other in others { other.heard(news) }
        }

        /// Releases the claims of reminders that are set again.
        fileprivate func endClaims(of batch: JournalBatch) {
            let set = batch.reminders.compactMap { change in
                if case .set(let reminder) = change { reminder.due } else { nil }
            }
            endClaims(of: batch.session, dueAt: Set(set))
        }

        fileprivate func endClaims(of session: SessionKey, dueAt times: Set<Duration>) {
            guard !times.isEmpty else { return }
            state.withLock { state in
                for alarm in state.claims.keys where alarm.session == session && times.contains(alarm.due) {
                    state.claims[alarm] = nil
                }
            }
        }

        /// Removes all nodes.
        public func forgetNodes() { state.withLock { ($0.nodes, $0.streams) = ([:], [:]) } }

        /// Simulates a lost connection.
        public func interrupt() { for listener in listeners.withLock({ $0 }) { listener.heard(.interrupted) } }
    }

    package var base: any Journal { kept }
    private let kept: MemoryJournal
    private let cluster: Cluster
    /// The journal's clock: since 1970. Nil if it has none of its own.
    private let now: (@Sendable () -> Duration)?
    private let isCutOff = Lock(false)
    private let holdsCommits = Lock(false)
    /// Keys that belong to other sessions by now, as after a restore.
    private let given = Lock<[SessionKey: SessionKey]>([:])
    /// The loads whose results are held; nil if results are reported at once.
    private let heldLoads = Lock<[@Sendable () -> Void]?>(nil)
    private let storeLoad = Lock<(hold: StoreLoadHold, held: (@Sendable () -> Void)?)?>(nil)
    /// The session whose position is held, if any, and the waiting requests for it.
    private let heldMarks = Lock<(session: SessionKey?, asked: [@Sendable () -> Void])>((nil, []))

    /// The operation that fails once.
    private let failing = Lock<JournalOperation?>(nil)
    /// The answer to the next append if it is held.
    private let heldAnswer = Lock<(isWanted: Bool, tell: (@Sendable () -> Void)?)>((false, nil))

    package init(
        _ kept: MemoryJournal, _ cluster: Cluster, now: (@Sendable () -> Duration)? = nil
    ) {
        (self.kept, self.cluster, self.now) = (kept, cluster, now)
    }

    /// Assigns a session's key to another session, as after a restore.
    package func give(_ key: SessionKey, to other: SessionKey) { given.withLock { $0[key] = other } }

    private func named(_ key: SessionKey) -> SessionKey { given.withLock { $0[key] } ?? key }

    /// Cuts the node off from the journal, or connects it again.
    package func cutOff(_ isCutOff: Bool) { self.isCutOff.withLock { $0 = isCutOff } }

    /// Holds renewals forever, or answers them again, while reads are answered: as at a replaced database.
    package func holdCommits(_ holdsCommits: Bool) { self.holdsCommits.withLock { $0 = holdsCommits } }

    /// Runs `body` if the journal is reachable; otherwise `done` fails.
    private func reach<Value>(_ done: Done<Value>, _ body: () -> Void) {
        if isCutOff.withLock({ $0 }) { done(.failure(.cutOff)) } else { body() }
    }

    package func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        let fails = failing.withLock { failing in
            guard failing == operation else { return false }
            failing = nil
            return true
        }
        if fails { done(.failure(.cutOff)) } else { reach(done) { body(done) } }
    }

    /// Fails the next operation of a kind that is performed as by any other journal.
    package func failNext(_ operation: JournalOperation) { failing.withLock { $0 = operation } }

    package func listen(_ heard: @escaping @Sendable (JournalNews) -> Void) {
        cluster.listeners.withLock { $0.append((ObjectIdentifier(self), heard)) }
    }

    /// Loads sessions, but reports the results only by `tellLoad` from now on.
    package func holdLoads() { heldLoads.withLock { $0 = $0 ?? [] } }

    /// Reports the result of the last load; returns false if there is none.
    package func tellLoad() -> Bool {
        let load = heldLoads.withLock { $0?.popLast() }
        load?()
        return load != nil
    }

    /// The point at which the next load of stores waits for `goOn`.
    package enum StoreLoadHold { case beforeReading, beforeTelling }

    package func holdStoreLoad(_ hold: StoreLoadHold) { storeLoad.withLock { $0 = (hold, nil) } }

    /// Continues the held load of stores.
    package func goOn() {
        let held = storeLoad.withLock { state in
            defer { state = nil }
            return state?.held
        }
        held?()
    }

    /// Holds the position of a session until this is called with nil.
    package func holdMarks(of session: SessionKey?) {
        let asked = heldMarks.withLock { held in
            let asked = session == nil ? held.asked : []
            held = (session, session == nil ? [] : held.asked)
            return asked
        }
        for ask in asked { ask() }
    }

    package func tellContention(of session: SessionKey) {
        if !isCutOff.withLock({ $0 }) { cluster.tell(.contended(session), from: self) }
    }

    package func marks(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionMark]>) {
        let isHeld = heldMarks.withLock { held in
            guard let session = held.session, sessions.contains(session) else { return false }
            held.asked.append { [self] in self.marks(of: sessions, done: done) }
            return true
        }
        if isHeld { return }
        reach(done) {
            var marks: [SessionKey: SessionMark] = [:]
            for key in sessions { marks[key] = kept.mark(of: named(key)) }
            done(.success(marks))
        }
    }

    package func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>) {
        if isCutOff.withLock({ $0 }) { return done(.failure(.cutOff)) }
        var known: Set<TokenHash> = []
        for token in tokens {
            let load = Lock<SessionLoad?>(nil)
            kept.load(token, now: .zero) { result in load.withLock { $0 = try? result.get() } }
            switch load.withLock({ $0 }) {
            case .found?, .damaged?, .ended?: known.insert(token)
            case .unknown?, nil: break
            }
        }
        done(.success(known))
    }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        if isCutOff.withLock({ $0 }) { return .failed(.cutOff) }
        var batch = batch
        batch.session = named(batch.session)
        let result = kept.append(batch, done: done)
        if case .committed? = result {
            cluster.endClaims(of: batch)
            cluster.tell(.appended([batch.session: batch.head]), from: self)
        }
        let isHeld = heldAnswer.withLock { held in
            guard held.isWanted, let result else { return false }
            held = (false, { done(result) })
            return true
        }
        return isHeld ? nil : result
    }

    /// Makes the next append at once, and reports its result by `tellAnswer`.
    package func holdAnswer() { heldAnswer.withLock { $0 = (true, nil) } }

    package func tellAnswer() { heldAnswer.withLock { $0.tell.take() }?() }

    package func create(_ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>) {
        reach(done) {
            kept.create(session, credential: credential) { [self] result in
                done(result)
                if case .success = result { cluster.tell(.known([session.tokenHash]), from: self) }
            }
        }
    }

    package func change(_ change: CredentialChange, done: @escaping Done<Void>) {
        reach(done) {
            kept.change(change) { [self] result in
                if case .success = result {
                    cluster.endClaims(of: change.session, dueAt: Set(change.reminders.map(\.due)))
                }
                done(result)
                if case .success = result { cluster.tell(.changed([change.session]), from: self) }
            }
        }
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        reach(done) {
            kept.bury(token, until: until) { [self] result in
                done(result)
                cluster.tell(.known([token]), from: self)
            }
        }
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        reach(done) {
            kept.remove(session, tombstoneUntil: tombstoneUntil) { [self] result in
                done(result)
                cluster.tell(.changed([session]), from: self)
            }
        }
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        reach(done) {
            kept.load(named(session), since: since) { [heldLoads] result in
                let isHeld = heldLoads.withLock { held in
                    held?.append { done(result) }
                    return held != nil
                }
                if !isHeld { done(result) }
            }
        }
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        reach(done) { [kept, storeLoad] in
            let hold = storeLoad.withLock { $0?.held == nil ? $0?.hold : nil }
            guard let hold else { return kept.loadStores(features, of: named(session), named: token, done: done) }
            let name = named(session)
            switch hold {
            case .beforeReading:
                storeLoad.withLock { $0?.held = { kept.loadStores(features, of: name, named: token, done: done) } }
            case .beforeTelling:
                kept.loadStores(features, of: name, named: token) { result in
                    storeLoad.withLock { $0?.held = { done(result) } }
                }
            }
        }
    }

    package var trouble: StoreError? { isCutOff.withLock { $0 } ? .cutOff : nil }

    package func close() async {}
}

// MARK: Nodes

extension NodeJournal {
    package func join(_ node: NodeRecord, done: @escaping Done<[NodeRecord]>) {
        if holdsCommits.withLock({ $0 }) { return done(.failure(.cutOff)) }
        reach(done) {
            let older = cluster.state.withLock { state in
                state.nodes[node.id] = node
                return state.nodes.values.filter { $0.address == node.address && $0.id != node.id }
            }
            cluster.tell(.nodes, from: self)
            done(.success(older))
        }
    }

    package func renew(_ node: NodeRecord, done: @escaping Done<NodeRenewal?>) {
        if holdsCommits.withLock({ $0 }) { return done(.failure(.cutOff)) }
        reach(done) {
            let (nodes, isNews) = cluster.state.withLock { state -> ([NodeRecord]?, Bool) in
                guard let old = state.nodes[node.id] else { return (nil, false) }
                var new = node
                new.renewals = old.renewals + 1
                state.nodes[node.id] = new
                return (Array(state.nodes.values), new.isDraining != old.isDraining)
            }
            if isNews { cluster.tell(.nodes, from: self) }
            done(.success(nodes.map { NodeRenewal(nodes: $0, time: now?()) }))
        }
    }

    package func forget(_ node: NodeID, renewals: UInt64?, done: @escaping Done<Bool>) {
        reach(done) {
            let isGone = cluster.state.withLock { state in
                if let record = state.nodes[node], let renewals, record.renewals != renewals { return false }
                state.nodes[node] = nil
                for key in state.streams.keys { state.streams[key]?[node] = nil }
                return true
            }
            if isGone { cluster.tell(.nodes, from: self) }
            done(.success(isGone))
        }
    }

    package func orphans(limit: Int, done: @escaping Done<[OrphanedSession]>) {
        reach(done) {
            let nodes = cluster.state.withLock { $0.nodes }
            done(.success(Array(kept.ownedSessions.filter { nodes[$0.owner.node] == nil }.prefix(limit))))
        }
    }

    package func noteStreams(
        _ count: Int, of session: SessionKey, on node: NodeID, limit: Int?, done: @escaping Done<Bool>
    ) {
        reach(done) {
            let isNoted = cluster.state.withLock { state in
                var streams = state.streams[session] ?? [:]
                streams[node] = count == 0 ? nil : count
                if let limit, streams.values.reduce(0, +) > limit { return false }
                state.streams[session] = streams
                return true
            }
            done(.success(isNoted))
        }
    }

    package func claimAlarms(
        dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int,
        done: @escaping Done<(due: [Alarm], next: Duration?)>
    ) {
        reach(done) {
            let time = self.now?() ?? .zero
            let found = Lock<[Alarm]>([])
            kept.alarms(after: nil, limit: .max) { result in found.withLock { $0 = (try? result.get()) ?? [] } }
            let all = found.withLock { $0 }
            let owners = Dictionary(uniqueKeysWithValues: kept.ownedSessions.map { ($0.session, $0.owner.node) })
            let (due, next) = cluster.state.withLock { state -> ([Alarm], Duration?) in
                let free = all.filter { alarm in
                    let owner = owners[alarm.session]
                    let isOthers = owner.map { $0 != node && state.nodes[$0] != nil } == true
                    let isClaimed = state.claims[alarm].map { $0.until > time } == true
                    return alarm.due <= now && !isOthers && !isClaimed
                }.prefix(limit)
                for alarm in free { state.claims[alarm] = (node, time + life) }
                return (Array(free), all.first { !free.contains($0) }?.due)
            }
            done(.success((due, next)))
        }
    }
}

extension StoreError {
    fileprivate static let cutOff = StoreError(.unavailable, "The node is cut off from the journal.")
}
