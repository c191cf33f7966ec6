import MVI
import SessionJournal

/// The owner of a session's turns, as far as this node knows.
struct Ownership: Sendable {
    /// The owner in the journal.
    var owner: SessionOwner?
    /// True if this object became the owner with it: the session's work runs here.
    var isHere = false
    /// The stores with running work, as recorded in the journal.
    var working: [FeatureID] = []
    /// The time until which this node stays the owner without work, on the monotonic clock, to avoid conflicts.
    var heldUntil: Duration = .zero
    /// The number of recent conflicts with other nodes, and the time of the first.
    var collisions = 0
    var collidedSince: Duration = .zero
    /// True if the stores in memory must still be told that work of another process begins anew here.
    var isUnrestored = false
    /// The stores that streams of other nodes show, and the time until which that is known.
    var watchers: [NodeID: (until: Duration, stores: [FeatureID: SessionStore])] = [:]

    /// The number of conflicts after which one node should own the session.
    private static let collisionLimit = 4
    private static let collisionTime: Duration = .seconds(1)
    static let holdTime: Duration = .seconds(5)
    /// The time for which a node stays a space's owner after its last turn or stream.
    static let spaceHoldTime: Duration = .seconds(60)

    /// Counts a conflict with another node. Returns true if the others should be told, so that one becomes the owner.
    mutating func collide(now: Duration) -> Bool {
        if now - collidedSince > Self.collisionTime { (collisions, collidedSince) = (0, now) }
        collisions += 1
        guard collisions >= Self.collisionLimit, owner == nil else { return false }
        hold(now: now)
        return collisions == Self.collisionLimit
    }

    /// Makes the node the owner for a while with its next append.
    mutating func hold(now: Duration) { if owner == nil { heldUntil = now + Self.holdTime } }
}

extension SessionBatch {
    /// The stores whose work begins with the batch.
    var beginning: [FeatureID] {
        var features = claims
        for entry in entries where !entry.isDisposed {
            guard let place = entry.store, !features.contains(entry.feature) else { continue }
            let isBusy = entry.effects.contains { $0.launches || ($0.watches && place.isUsed(for: $0)) }
            if isBusy { features.append(entry.feature) }
        }
        return features
    }
}

extension SessionCore {

    /// Returns the owner change of a batch that ends at a head. `needsNode` is true if this node may not run work and
    /// the batch starts some.
    ///
    /// - Parameters:
    ///   - features: the stores whose work begins with it.
    ///   - isSpace: true if each turn needs an owner.
    func ownerChange(
        _ working: SessionBatch, _ features: [FeatureID], head: SessionHead, by node: NodeID?, now: Duration,
        isSpace: Bool
    ) -> (change: OwnerChange?, needsNode: Bool) {
        let known = ownership
        if known.isHere, let owner = known.owner {
            if working.releasesOwner, features.isEmpty { return (.released, false) }
            if working.givesAway {
                let fence = SessionOwner(node: .nobody, fence: head)
                return (.owned(fence, working: known.working + features), false)
            }
            let new = features.filter { !known.working.contains($0) }
            return (new.isEmpty ? nil : .owned(owner, working: known.working + new), false)
        }
        if features.isEmpty, !isSpace || working.releasesOwner {
            // A lost owner stays recorded until its work has begun elsewhere: otherwise the session would not be found.
            if known.owner != nil { return (working.releasesOwner ? .released : nil, false) }
            guard now < known.heldUntil, node != nil else { return (nil, false) }
        }
        guard let node else { return (nil, true) }
        // Work of the other stores may have run at an owner that is gone.
        let others = known.owner == nil ? [] : stores.map(\.feature).filter { !features.contains($0) }
        return (.owned(SessionOwner(node: node, fence: head), working: features + others), false)
    }

    /// Applies the batch's owner as committed: this node, unless its lease has ended meanwhile.
    mutating func take(_ change: OwnerChange, _ node: NodeID?) {
        var new = ownership
        switch change {
        case .released: (new.owner, new.isHere, new.working) = (nil, false, [])
        case .owned(let owner, let working):
            (new.owner, new.working) = (owner, working)
            new.isHere = owner.node == node
            if !new.isHere { new.working = [] }
        }
        ownership = new
    }

    /// Adopts the owner that another node committed. Returns the stores whose work ends here.
    mutating func adopt(_ owner: SessionOwner?) -> [SessionStore] {
        guard keptOwnership != nil || owner != nil else { return [] }
        var new = ownership
        let (isOther, isLost) = (new.owner != owner, new.isHere && new.owner != owner)
        new.owner = owner
        ownership = new
        if isLost { return loseWork() }
        // If that owner is lost, its work begins anew here. An owner that released the session had ended its work.
        if isOther { ownership.isUnrestored = owner != nil }
        return []
    }

    /// Resets the stores in memory as if they had just been loaded: another node runs the session's work, or none does.
    mutating func loseWork() -> [SessionStore] {
        var new = ownership
        (new.isHere, new.working, new.heldUntil) = (false, [], .zero)
        ownership = new
        var ended: [SessionStore] = []
        for slot in stores { if let store = slot.store { ended.append(store) } }
        restoreStores()
        return ended
    }

    /// Has the stores in memory restored before their next turn, since work of another process begins here.
    mutating func restoreStores() {
        if keptOwnership != nil { ownership.isUnrestored = false }
        for index in stores.indices where stores[index].store != nil {
            if case .done = stores[index].start { stores[index].start = .restored(view: nil) }
        }
    }

    var storesInMemory: [SessionStore] { stores.compactMap(\.store) }
}
