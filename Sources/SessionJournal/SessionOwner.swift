import MVI

/// The id of a process among those that share a journal: random, and a new one each time that it joins.
package struct NodeID: Hashable, Sendable {
    /// Never negative.
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    package static func random() -> NodeID { NodeID(.random(in: 1 ... .max)) }
}

/// The node that alone runs a session's turns, because it runs the session's work.
///
/// Work cannot move to another node, since its progress exists in its process only. A session with work belongs to one
/// node until the work ends or the node is gone.
package struct SessionOwner: Hashable, Sendable {
    package var node: NodeID
    /// The head of the append that made the node the owner. It is new each time, so a node cannot pass for a later
    /// owner of the same id: all its appends fail (a fencing token, M. Kleppmann, "Designing Data-Intensive
    /// Applications", chapter 8).
    package var fence: SessionHead

    package init(node: NodeID, fence: SessionHead) { (self.node, self.fence) = (node, fence) }
}

/// An append's change of a session's owner.
package enum OwnerChange: Sendable, Hashable {
    /// This node owns the session and runs work of these stores. It replaces another owner or adds stores.
    case owned(SessionOwner, working: [FeatureID])
    /// The session has no owner.
    case released
}

/// A session whose owner is gone, with the stores whose work ran.
package struct OrphanedSession: Sendable, Hashable {
    package var session: SessionKey
    /// The token of the session's record.
    package var token: TokenHash
    package var owner: SessionOwner
    package var working: [FeatureID]

    package init(session: SessionKey, token: TokenHash, owner: SessionOwner, working: [FeatureID]) {
        (self.session, self.token, self.owner, self.working) = (session, token, owner, working)
    }
}

/// A process that uses a journal, as other processes see it.
package struct NodeRecord: Sendable, Hashable {
    package var id: NodeID
    /// The host and port for requests of other nodes, such as `10.0.0.3:8080`.
    package var address: String
    /// True if the node gives its sessions away and accepts no more.
    package var isDraining: Bool
    /// The number of renewals. A node whose number stays the same is gone.
    package var renewals: UInt64

    package init(id: NodeID, address: String, isDraining: Bool = false, renewals: UInt64 = 0) {
        (self.id, self.address, self.isDraining, self.renewals) = (id, address, isDraining, renewals)
    }
}
