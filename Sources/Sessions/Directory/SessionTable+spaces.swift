import EventStream
import Locking
import MVI
import SessionJournal

/// Spaces are sessions that are found by a name.
extension SessionTable {
    /// A space that is made if there is none, unless there is a time to wait.
    typealias NewSpace = (name: SpaceName, permit: @Sendable () -> Duration?)

    /// Looks up a space if the journal need not be asked.
    package func space(inMemory name: SpaceName) -> SessionLookup? {
        guard environment.lease == nil else { return nil }
        return lookup(TokenHash(space: name), .use, now: environment.time.monotonic())
    }

    /// Looks up a space, which is made if there is none: before this returns if it is in memory, otherwise perhaps later,
    /// on another thread. It is stored with its first turn.
    ///
    /// - Parameter permit: called if there is none: returns the time to wait until the space may be made; nil if it may be
    ///   made now. Without it only a stored one is found, or one in memory.
    package func space(
        _ name: SpaceName, permit: (@Sendable () -> Duration?)?, completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        find(TokenHash(space: name), orMake: permit.map { (name, $0) }, completion)
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

    /// A space without a turn, which the journal does not have.
    func enter(_ space: SpaceName, _ hash: TokenHash, _ permit: () -> Duration?) -> SessionLookup {
        if let wait = permit() { return .failed(.tooManyNewSpaces(retryAfter: wait)) }
        guard enter() else { return .failed(.tooManySessions) }
        let record = SessionRecord(
            space: space, id: Epoch.random(), epoch: Epoch.random(), created: environment.time.sinceEpoch())
        return Session(record, environment: environment).lookup(nil)
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
