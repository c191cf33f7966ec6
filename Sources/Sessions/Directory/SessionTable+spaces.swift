import EventStream
import Locking
import MVI
import SessionJournal

/// Spaces are sessions that are found by a name.
extension SessionTable {
    /// Looks up a space that may be made, if the journal need not be asked.
    package func space(inMemory name: SpaceName) -> SessionLookup? {
        guard environment.lease == nil else { return nil }
        return lookup(TokenHash(space: name), .use, now: environment.time.monotonic())
    }

    /// Looks up a space, which is made if there is none: before this returns if it is in memory, otherwise perhaps later,
    /// on another thread. It is stored with its first turn.
    ///
    /// - Parameter permit: called if there is none: returns the time to wait until the space may be made; nil if it may be
    ///   made now. Without it only a space that has a store is found.
    package func space(
        _ name: SpaceName, permit: (@Sendable () -> Duration?)?, completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        let hash = TokenHash(space: name)
        find(hash) { [self] found in
            guard let permit else { return withStore(found, completion) }
            guard case .unknown = found else { return completion(found) }
            // Requests that waited for the same answer have permissions of their own: one of them may have made it.
            if let made = lookup(hash, .use, now: environment.time.monotonic()) { return completion(made) }
            if let wait = permit() { return completion(.failed(.tooManyNewSpaces(retryAfter: wait))) }
            make(name, hash, completion)
        }
    }

    /// Passes a space on if it has a store, here or on another node; otherwise it counts as unknown.
    private func withStore(_ found: SessionLookup, _ completion: @escaping @Sendable (SessionLookup) -> Void) {
        guard case .live(let space, _) = found, space.storeIDs.isEmpty else { return completion(found) }
        space.confirm { [self] _ in
            guard space.hasLeft else { return completion(space.storeIDs.isEmpty ? .unknown : found) }
            // Another node stored a space of that name.
            find(space.tokenHash) { completion($0) }
        }
    }

    /// Runs an intent or an action of the server's own code in a shared store, which is made if there is none.
    package func deliver(_ delivery: Delivery, toShared feature: FeatureID, once: String?) async -> IntentResult {
        guard let name = environment.features.space(of: feature) else { return .failure(.featureNotFound) }
        let found = await awaitResult { done in space(name, permit: { nil }) { done($0) } }
        return switch found {
        case .live(let space, _):
            await whereOwned(space) {
                space.deliver(delivery, to: feature, once: once, makesStore: true, completion: $0)
            }
        case .damaged(_, let error), .failed(let error): .failure(error)
        case .ended, .unknown: .failure(.featureNotFound)
        }
    }

    /// Makes a space, which the journal does not have.
    private func make(
        _ name: SpaceName, _ hash: TokenHash, _ completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        guard enter() else { return completion(.failed(.tooManySessions)) }
        let record = SessionRecord(
            space: name, id: Epoch.random(), epoch: Epoch.random(), created: environment.time.sinceEpoch())
        let made = Session(record, environment: environment)
        let isMade = shard(hash).withLock { shard in
            // Another request may have made it, and it may be loading again.
            guard shard.sessions[hash] == nil, shard.loading[hash] == nil else { return false }
            shard.sessions[hash] = made
            return true
        }
        if isMade { return completion(made.lookup(nil)) }
        places.leave()
        space(name, permit: { nil }, completion: completion)
    }
}

extension Session {
    /// The time of its monotonic clock.
    package var now: Duration { shared.time.monotonic() }

    /// Counts a space that a client of this session makes. Returns nil if it may make one now, otherwise the time until then.
    package func takeSpace() -> Duration? {
        let (rate, now) = (Rate(perHour: shared.limits.newSpacesPerHour), shared.time.monotonic())
        return core.withLock { core in
            let rare = core.makeRare()
            var bucket = rare.spaces ?? TokenBucket()
            defer { rare.spaces = bucket }
            return bucket.take(rate, now: now)
        }
    }
}

extension StoreError {
    fileprivate static func tooManyNewSpaces(retryAfter: Duration) -> StoreError {
        StoreError(.tooManyNewSpaces, "Too many shared stores were made from here lately.", retryAfter: retryAfter)
    }
}

extension StoreError.Code {
    /// A client, or its address, has made too many shared stores lately.
    package static let tooManyNewSpaces = Self("tooManyNewSpaces")
}
