import Locking
import MVI
import SessionJournal

/// This process among the nodes that use one journal: whether it may run sessions' work, and which other nodes live.
///
/// A node renews its row in the journal every few seconds. Others take its sessions over when they saw the row unchanged for
/// `patience`, each by its own clock; the node itself stops its work earlier, `life` after it *sent* its last renewal that was
/// answered. No clock of one machine is compared with that of another (C. Gray, D. Cheriton, "Leases", 1989).
package final class NodeLease: Sendable {
    /// How often a node renews.
    static let interval: Duration = .seconds(3)
    /// How long after a renewal was sent the node may run work.
    static let life: Duration = .seconds(10)
    /// For how long another node's row has to be seen unchanged before it counts as gone: longer than `life` by what clocks
    /// drift meanwhile, and by the second in which a node notices that its lease has ended.
    static let patience: Duration = .seconds(13)

    private struct State {
        /// Nil as long as it is not among the nodes.
        var id: NodeID?
        /// On the monotonic clock.
        var end: Duration = .zero
        /// When it first asked to be among the nodes; nil before that.
        var lastJoin: Duration?
        /// Nodes as the last renewal found them.
        var nodes: [NodeID: NodeRecord] = [:]
        /// Of each other node the number of renewals that was seen last, and since when it is the same.
        var seen: [NodeID: (renewals: UInt64, since: Duration)] = [:]
        /// Ids that the last renewal did not find, and when the first session with each was met.
        var unknown: [NodeID: Duration] = [:]
        /// Ids that no living node has: none is used again.
        var gone: Set<NodeID> = []
        /// The number of times that the lease ended, and that others said that the node is gone.
        var (expiries, evictions) = (0, 0)
        var isDraining = false
        var isRenewing = false
        var nextRenewal: Duration = .zero
        /// Nodes came or went: the next renewal is due at once.
        var hasNews = false
        /// How often sessions of nodes that are gone were looked for; nil if there are none.
        var orphanRound: Int?

        mutating func leave() -> NodeID? {
            if let id { gone.insert(id) }
            return id.take()
        }
    }

    private let state = Lock(State())
    private let time: TimeSource
    /// The journal's clock.
    package let clock: JournalClock

    init(time: TimeSource) { (self.time, clock) = (time, JournalClock(time)) }

    /// The node's id if it may run work now: not before it knows the time.
    var holder: NodeID? {
        let now = time.monotonic()
        guard clock.difference != nil else { return nil }
        return state.withLock { $0.isDraining || now >= $0.end ? nil : $0.id }
    }

    /// The node's id in the journal, whether or not it may run work.
    package var id: NodeID? { state.withLock { $0.id } }

    /// Whether reads of the journal show what holds now. They do not where this node's commits have had no answer for as long
    /// as a lease lasts: a database that another one has replaced goes on answering reads, and commits nothing.
    var confirmsReads: Bool {
        let now = time.monotonic()
        return state.withLock { $0.lastJoin == nil || now < $0.end }
    }

    /// The number of times that the node's work ended: without the journal for too long, and taken for gone by others.
    var losses: (expiries: Int, evictions: Int) { state.withLock { ($0.expiries, $0.evictions) } }

    /// The difference of this node's clock to the journal's, positive if it is ahead; nil as long as it is not known.
    package var clockDifference: Duration? { clock.difference }

    /// Whether the node asked to be among the others, and has had no answer yet: it does not know the time.
    var isComing: Bool { clock.difference == nil && state.withLock { $0.lastJoin != nil } }

    /// Whether the node gives its sessions away.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Whether another node that lives has the id, as far as is known: one that is not known counts as living until a later
    /// renewal has not found it.
    func isAnother(_ id: NodeID) -> Bool {
        let now = time.monotonic()
        return state.withLock { state in
            if id == state.id || id == .nobody || state.gone.contains(id) { return false }
            if state.nodes[id] == nil, state.unknown[id] == nil { state.unknown[id] = now }
            return true
        }
    }

    func node(_ id: NodeID) -> NodeRecord? { state.withLock { id == $0.id ? nil : $0.nodes[id] } }

    /// The place of this node among all, and how many they are.
    var place: (rank: Int, count: Int) {
        state.withLock { state in
            let smaller = state.nodes.keys.count { $0.number < (state.id?.number ?? 0) }
            return (smaller, max(1, state.nodes.count))
        }
    }

    // MARK: Renewals

    /// Whether it is time for a renewal. One at a time: a journal that does not answer is not asked again and again.
    func beginRenewal(now: Duration) -> Bool {
        state.withLock { state in
            let isDue = now >= state.nextRenewal || state.hasNews || !state.unknown.isEmpty
            guard !state.isRenewing, isDue else { return false }
            (state.isRenewing, state.hasNews, state.nextRenewal) = (true, false, now + Self.interval)
            state.lastJoin = state.lastJoin ?? now
            return true
        }
    }

    func endRenewal() { state.withLock { $0.isRenewing = false } }

    /// Nodes came, went or began to drain.
    func heardOfNodes() { state.withLock { $0.hasNews = true } }

    /// There may be sessions whose owners are gone.
    func noteOrphans(round: Int = 0) { state.withLock { $0.orphanRound = $0.orphanRound ?? round } }

    /// How often they were looked for already; nil if there are none.
    func takeOrphanRound() -> Int? {
        state.withLock { state in
            defer { state.orphanRound = nil }
            return state.orphanRound
        }
    }

    /// What the next renewal says; nil if the node has to join first.
    func record(_ address: String) -> NodeRecord? {
        state.withLock { state in
            state.id.map { NodeRecord(id: $0, address: address, isDraining: state.isDraining) }
        }
    }

    /// The node is among the others.
    func joined(_ id: NodeID, sent: Duration) {
        state.withLock { state in
            state.id = id
            state.end = sent + Self.life
            // What was there before this node came.
            state.orphanRound = 0
        }
    }

    /// A renewal that was sent at a time was answered. Returns the nodes that were seen unchanged for too long, and whether
    /// some are gone that were there.
    func renewed(_ renewal: NodeRenewal, sent: Duration) -> (silent: [NodeRecord], hasLost: Bool) {
        let (now, nodes) = (time.monotonic(), renewal.nodes)
        clock.note(renewal.time ?? time.sinceEpoch(), sent: sent, received: now)
        return state.withLock { state in
            state.end = max(state.end, sent + Self.life)
            let found = Dictionary(nodes.map { ($0.id, $0) }) { $1 }
            let lost = state.nodes.keys.filter { found[$0] == nil }
            let unknown = state.unknown.filter { found[$0.key] == nil && $0.value < sent }.map(\.key)
            if state.gone.count > 10_000 { state.gone = [] }
            state.gone.formUnion(lost + unknown)
            for id in found.keys { state.unknown[id] = nil }
            for id in unknown { state.unknown[id] = nil }
            state.nodes = found
            var seen: [NodeID: (renewals: UInt64, since: Duration)] = [:]
            for node in nodes where node.id != state.id {
                let before = state.seen[node.id]
                seen[node.id] = before?.renewals == node.renewals ? before : (node.renewals, now)
            }
            state.seen = seen
            // No later than the next one can be told to be gone.
            let last = seen.values.map(\.since).min() ?? now
            state.nextRenewal = min(state.nextRenewal, max(now, last + Self.patience))
            let silent = nodes.filter { node in seen[node.id].map { now - $0.since >= Self.patience } == true }
            return (silent, !lost.isEmpty || !unknown.isEmpty)
        }
    }

    /// The journal was not reached: what was seen of others begins anew.
    func missed() { state.withLock { $0.seen = [:] } }

    /// Whether the lease has ended: the node is not among the others any more, and has to join again under another id.
    func end() -> NodeID? {
        let now = time.monotonic()
        return state.withLock { state in
            guard now >= state.end || state.isDraining, let id = state.leave() else { return nil }
            if !state.isDraining { state.expiries += 1 }
            return id
        }
    }

    /// The others say that the node is gone.
    func forgotten() -> NodeID? {
        state.withLock { state in
            guard let id = state.leave() else { return nil }
            if !state.isDraining { state.evictions += 1 }
            return id
        }
    }

    /// The node takes no more work, and joins no more.
    func drain() { state.withLock { $0.isDraining = true } }
}

extension NodeID {
    /// That of the owner of a session that was given away: any node takes it over.
    static let nobody = NodeID(0)
}
