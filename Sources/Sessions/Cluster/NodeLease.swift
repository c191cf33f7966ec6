import Locking
import MVI
import SessionJournal

/// The lease of this process among the nodes that share a journal.
///
/// A node renews its row in the journal every few seconds. Other nodes take over its sessions if they saw the row
/// unchanged for `patience`, each by its own clock. The node itself stops its work earlier: `life` after it *sent* its
/// last answered renewal. The clocks of two machines are never compared (C. Gray, D. Cheriton, "Leases", 1989).
package final class NodeLease: Sendable {
    /// The time between two renewals.
    static let interval: Duration = .seconds(3)
    /// The time for which the node may run work after it sent a renewal.
    static let life: Duration = .seconds(10)
    /// The time for which another node's row must be unchanged before the node counts as gone. Longer than `life` by
    /// the drift of clocks and by the second in which a node notices that its lease has ended.
    static let patience: Duration = .seconds(13)

    private struct State {
        /// Nil until the node has joined.
        var id: NodeID?
        /// The end of the lease, on the monotonic clock.
        var end: Duration = .zero
        /// The time of the first request to join; nil before that.
        var lastJoin: Duration?
        /// The nodes that the last renewal found.
        var nodes: [NodeID: NodeRecord] = [:]
        /// For each other node, the number of renewals that was seen last and the time since when it is unchanged.
        var seen: [NodeID: (renewals: UInt64, since: Duration)] = [:]
        /// Ids that the last renewal did not find, and the time when a session with each was first loaded.
        var unknown: [NodeID: Duration] = [:]
        /// Ids that no living node has. Ids are not reused.
        var gone: Set<NodeID> = []
        /// The time at which a node was last found gone.
        var lastLoss: Duration?
        /// The number of times that the lease expired, and that other nodes declared this node gone.
        var (expiries, evictions) = (0, 0)
        var isDraining = false
        var isRenewing = false
        var nextRenewal: Duration = .zero
        /// True if nodes came or went: the next renewal is due at once.
        var hasNews = false
        /// The number of searches for sessions of nodes that are gone; nil if there are none.
        var orphanRound: Int?
        /// The nodes that joined earlier under this node's address, and their renewals when this node saw them first.
        var older: [NodeID: UInt64] = [:]
        /// The one of them that was renewed since then: it lives.
        var namesake: NodeRecord?
        /// True after this node gave its sessions to its namesake.
        var hasYielded = false
        /// Ids that this node had, whose rows it could not remove.
        var left: [NodeID] = []

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

    /// The node's id if it may run work now. Nil until the node knows the time, and while an older node has its address.
    var holder: NodeID? {
        let now = time.monotonic()
        guard clock.difference != nil else { return nil }
        return state.withLock { $0.isDraining || now >= $0.end || $0.namesake != nil ? nil : $0.id }
    }

    /// The message for the operator while a living node that joined earlier has this node's address; otherwise nil.
    package var addressTrouble: String? {
        guard let address = state.withLock({ $0.namesake?.address }) else { return nil }
        return
            "Another living node has the address \(address) too: requests for this node reach that one. Set --node-address to an address that only this node has, and restart it. Until then it is not ready and runs no work. If the other one is this node's predecessor, this ends with its lease, at most \(Self.patience.components.seconds) s after it stopped."
    }

    /// The node's id in the journal, even if it may not run work.
    package var id: NodeID? { state.withLock { $0.id } }

    /// True if reads of the journal return current data. False if this node's commits have had no answer for as long as
    /// a lease lasts: a database that was replaced by another goes on answering reads but commits nothing.
    var confirmsReads: Bool {
        let now = time.monotonic()
        return state.withLock { $0.lastJoin == nil || now < $0.end }
    }

    /// The number of times that the node's work ended: without the journal for too long, or declared gone by others.
    var losses: (expiries: Int, evictions: Int) { state.withLock { ($0.expiries, $0.evictions) } }

    /// The difference of this node's clock to the journal's, positive if it is ahead. Nil until it is known.
    package var clockDifference: Duration? { clock.difference }

    /// True if the node asked to join and does not know the time yet, since no answer has come.
    var isComing: Bool { clock.difference == nil && state.withLock { $0.lastJoin != nil } }

    /// True if the node gives its sessions away.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// True if another living node has the id. An unknown id counts as living until a later renewal has not found it.
    func isAnother(_ id: NodeID) -> Bool {
        let now = time.monotonic()
        return state.withLock { state in
            if id == state.id || id == .nobody || state.gone.contains(id) { return false }
            if state.nodes[id] == nil, state.unknown[id] == nil { state.unknown[id] = now }
            return true
        }
    }

    func node(_ id: NodeID) -> NodeRecord? { state.withLock { id == $0.id ? nil : $0.nodes[id] } }

    /// The other nodes.
    package var others: [NodeRecord] { state.withLock { state in state.nodes.values.filter { $0.id != state.id } } }

    /// The time at which a node was last found gone, on the monotonic clock; nil if none was.
    var lastLoss: Duration? { state.withLock { $0.lastLoss } }

    /// The rank of this node among all nodes, and their number.
    var place: (rank: Int, count: Int) {
        state.withLock { state in
            let smaller = state.nodes.keys.count { $0.number < (state.id?.number ?? 0) }
            return (smaller, max(1, state.nodes.count))
        }
    }

    // MARK: Renewals

    /// Returns true if a renewal is due. Only one runs at a time, so as not to flood a journal that does not answer.
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

    /// Makes the next renewal due at once, since nodes came, went or began to drain.
    func heardOfNodes() { state.withLock { $0.hasNews = true } }

    /// Notes that sessions may exist whose owners are gone.
    func noteOrphans(round: Int = 0) { state.withLock { $0.orphanRound = $0.orphanRound ?? round } }

    /// Returns the number of searches for orphaned sessions so far; nil if none is due.
    func takeOrphanRound() -> Int? {
        state.withLock { state in
            defer { state.orphanRound = nil }
            return state.orphanRound
        }
    }

    /// The row of the next renewal; nil if the node has to join first.
    func record(_ address: String) -> NodeRecord? {
        state.withLock { state in
            state.id.map { NodeRecord(id: $0, address: address, isDraining: state.isDraining) }
        }
    }

    /// Notes that the node has joined.
    ///
    /// - Parameter older: the nodes that joined earlier under its address. Those that are never renewed are dead, such
    ///   as this node's predecessor after a crash.
    func joined(_ id: NodeID, sent: Duration, older: [NodeRecord]) {
        state.withLock { state in
            state.id = id
            let before = state.older
            state.older = [:]
            for node in older { state.older[node.id] = before[node.id] ?? node.renewals }
            state.end = sent + Self.life
            // Sessions may have been orphaned before this node joined.
            state.orphanRound = 0
        }
    }

    /// Applies the answer to a renewal that was sent at a time. Returns the nodes that were unchanged for too long, and
    /// whether known nodes are gone.
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
            if !lost.isEmpty { state.lastLoss = now }
            for id in found.keys { state.unknown[id] = nil }
            for id in unknown { state.unknown[id] = nil }
            state.nodes = found
            state.older = state.older.filter { found[$0.key] != nil }
            state.namesake = nodes.first { node in state.older[node.id].map { node.renewals > $0 } == true }
            state.hasYielded = state.hasYielded && state.namesake != nil
            var seen: [NodeID: (renewals: UInt64, since: Duration)] = [:]
            for node in nodes where node.id != state.id {
                let before = state.seen[node.id]
                seen[node.id] = before?.renewals == node.renewals ? before : (node.renewals, now)
            }
            state.seen = seen
            // Not later than the first time at which the next node can count as gone.
            let last = seen.values.map(\.since).min() ?? now
            state.nextRenewal = min(state.nextRenewal, max(now, last + Self.patience))
            let silent = nodes.filter { node in seen[node.id].map { now - $0.since >= Self.patience } == true }
            return (silent, !lost.isEmpty || !unknown.isEmpty)
        }
    }

    /// Notes that the journal was not reached: the observation of other nodes begins anew.
    func missed() { state.withLock { $0.seen = [:] } }

    /// Returns the former id if the lease has ended: the node has left and has to join again with another id.
    func end() -> NodeID? {
        let now = time.monotonic()
        return state.withLock { state in
            guard now >= state.end || state.isDraining, let id = state.leave() else { return nil }
            if !state.isDraining { state.expiries += 1 }
            return id
        }
    }

    /// Returns the former id once after a living namesake was found: the node has left and has to join again.
    func leaveToNamesake() -> NodeID? {
        state.withLock { state in
            guard state.namesake != nil, !state.hasYielded, !state.isDraining, let id = state.leave() else {
                return nil
            }
            (state.hasYielded, state.hasNews) = (true, true)
            return id
        }
    }

    /// Notes that other nodes declared this node gone.
    func forgotten() -> NodeID? {
        state.withLock { state in
            guard let id = state.leave() else { return nil }
            if !state.isDraining { state.evictions += 1 }
            return id
        }
    }

    /// Notes that the row of an id that this node had could not be removed.
    func noteLeft(_ id: NodeID) { state.withLock { $0.left.append(id) } }

    func takeLeft() -> [NodeID] {
        state.withLock { state in
            defer { state.left = [] }
            return state.left
        }
    }

    /// Stops taking work and joining.
    func drain() { state.withLock { $0.isDraining = true } }
}

extension NodeID {
    /// The owner id of a session that was given away: any node may take it over.
    static let nobody = NodeID(0)
}
