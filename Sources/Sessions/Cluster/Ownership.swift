import MVI
import SessionJournal

/// Who runs a session's turns, as far as that is known here.
struct Ownership: Sendable {
    /// As the journal has it.
    var owner: SessionOwner?
    /// Whether this object became the owner with it: the session's work runs here.
    var isHere = false
    /// The stores whose work runs, as the journal was told.
    var working: [FeatureID] = []
    /// Until when it stays the owner without work, on the monotonic clock: another node would be in the way.
    var heldUntil: Duration = .zero
    /// How often others were first in a short time, and when that began.
    var collisions = 0
    var collidedSince: Duration = .zero
    /// Whether stores in memory are not told yet that work of another process begins anew here, if it does.
    var isUnrestored = false
    /// Stores that streams of other nodes show, and until when that is known.
    var watchers: [NodeID: (until: Duration, stores: [FeatureID: SessionStore])] = [:]

    /// Others are first so often that one node had better have the session for itself.
    private static let collisionLimit = 4
    private static let collisionTime: Duration = .seconds(1)
    static let holdTime: Duration = .seconds(5)

    /// Another node was first. Returns whether the others are to be told: one of them had better become the owner.
    mutating func collide(now: Duration) -> Bool {
        if now - collidedSince > Self.collisionTime { (collisions, collidedSince) = (0, now) }
        collisions += 1
        guard collisions >= Self.collisionLimit, owner == nil else { return false }
        hold(now: now)
        return collisions == Self.collisionLimit
    }

    /// The node's next append makes it the owner for a while.
    mutating func hold(now: Duration) { if owner == nil { heldUntil = now + Self.holdTime } }
}

extension SessionBatch {
    /// The stores whose work begins with it.
    var beginning: [FeatureID] {
        var features = claims
        for entry in entries where !entry.isDisposed {
            guard let place = entry.store, !features.contains(entry.feature) else { continue }
            let isBusy = entry.effects.contains { $0.launches || ($0.watches && place.isWatched) }
            if isBusy { features.append(entry.feature) }
        }
        return features
    }
}

extension SessionCore {

    /// What becomes of the owner with a batch that ends at a head. `needsNode` where this node may run no work and the batch
    /// asks for some.
    ///
    /// - Parameter features: the stores whose work begins with it.
    func ownerChange(
        _ working: SessionBatch, _ features: [FeatureID], head: SessionHead, by node: NodeID?, now: Duration
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
        if features.isEmpty {
            // An owner that is gone stays until its work has begun elsewhere: the session would not be found any more.
            if known.owner != nil { return (working.releasesOwner ? .released : nil, false) }
            guard now < known.heldUntil, node != nil else { return (nil, false) }
        }
        guard let node else { return (nil, true) }
        // Work of the other stores may have run at an owner that is gone.
        let others = known.owner == nil ? [] : stores.map(\.feature).filter { !features.contains($0) }
        return (.owned(SessionOwner(node: node, fence: head), working: features + others), false)
    }

    /// The journal has the batch's owner: this node, unless its lease has ended meanwhile.
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

    /// The journal has an owner, as another node left it. Returns the stores whose work ends here.
    mutating func adopt(_ owner: SessionOwner?) -> [SessionStore] {
        guard keptOwnership != nil || owner != nil else { return [] }
        var new = ownership
        let (isOther, isLost) = (new.owner != owner, new.isHere && new.owner != owner)
        new.owner = owner
        ownership = new
        if isLost { return loseWork() }
        // Should that one go, its work begins anew here. One that let go had ended its work.
        if isOther { ownership.isUnrestored = owner != nil }
        return []
    }

    /// Another node runs the session's work, or none does: the stores in memory are as if they had just been loaded.
    mutating func loseWork() -> [SessionStore] {
        var new = ownership
        (new.isHere, new.working, new.heldUntil) = (false, [], .zero)
        ownership = new
        var ended: [SessionStore] = []
        for slot in stores { if let store = slot.store { ended.append(store) } }
        restoreStores()
        return ended
    }

    /// Work of another process begins: the stores in memory have to be told, before their next turn here, that they are
    /// restored.
    mutating func restoreStores() {
        if keptOwnership != nil { ownership.isUnrestored = false }
        for index in stores.indices where stores[index].store != nil {
            if case .done = stores[index].start { stores[index].start = .restored(view: nil) }
        }
    }

    /// The stores in memory.
    var storesInMemory: [SessionStore] { stores.compactMap(\.store) }
}
