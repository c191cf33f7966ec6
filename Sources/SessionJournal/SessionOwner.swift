/// One process's name among those that use a journal: random, and new with each start.
package struct NodeID: Hashable, Sendable {
    /// Not negative.
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    package static func random() -> NodeID { NodeID(.random(in: 1 ... .max)) }
}

/// The node that alone runs a session's turns, since it runs the session's work.
///
/// Work cannot move to another node: what it would do next is known in its process only. So a session with work is one
/// node's until the work is over, or the node is gone.
package struct SessionOwner: Hashable, Sendable {
    package var node: NodeID
    /// The head of the append with which it became the owner: new each time, so that a node that was the owner before is
    /// told from itself. Its appends fail for ever (a fencing token, M. Kleppmann, "Designing Data-Intensive Applications",
    /// chapter 8).
    package var fence: SessionHead

    package init(node: NodeID, fence: SessionHead) { (self.node, self.fence) = (node, fence) }
}

/// What an append makes of a session's owner.
package enum OwnerChange: Sendable, Hashable {
    /// This one owns it, and work of these stores runs: in the place of the one before, or the same one with more stores.
    case owned(SessionOwner, working: [FeatureID])
    /// It has no owner any more.
    case released
}

/// A session whose owner is gone, with the stores whose work ran.
package struct OrphanedSession: Sendable, Hashable {
    package var session: SessionKey
    /// The token that it began with.
    package var token: TokenHash
    package var owner: SessionOwner
    package var working: [FeatureID]

    package init(session: SessionKey, token: TokenHash, owner: SessionOwner, working: [FeatureID]) {
        (self.session, self.token, self.owner, self.working) = (session, token, owner, working)
    }
}

/// A process that uses a journal, as the others see it.
package struct NodeRecord: Sendable, Hashable {
    package var id: NodeID
    /// Where other nodes reach it: a host and a port, such as `10.0.0.3:8080`.
    package var address: String
    /// Whether it gives its sessions away and takes no more.
    package var isDraining: Bool
    /// How often it was renewed. A node whose number stays the same is gone.
    package var renewals: UInt64

    package init(id: NodeID, address: String, isDraining: Bool = false, renewals: UInt64 = 0) {
        (self.id, self.address, self.isDraining, self.renewals) = (id, address, isDraining, renewals)
    }
}
