import Locking

/// Why a turn failed that asked for more work than its store may have.
public struct WorkLimitExceeded: Error, Sendable, Equatable, CustomStringConvertible {
    /// How many pieces it may have: `StoreEnvironment.workLimit`.
    public let limit: Int

    /// What happened and what to do.
    public var description: String {
        "The turn would leave its store with more than \(limit) pieces of work that run, wait or are registered for "
            + "watchers. Give work an id and a policy, so that it takes the place of what runs already."
    }
}

extension Store {
    /// Throws if the store would have too much work with these effects, after those of the batch's earlier turns.
    @usableFromInline
    func checkWork(_ effects: [Effect<F>], after earlier: EarlierTurns<F>?) throws {
        let earlier = earlier?.effects ?? []
        let limit = environment.workLimit
        // One effect makes two pieces at most: work and what holds it back or keeps it registered.
        let most = 2 * (earlier.count + effects.count)
        let table = core.withLock { core in core.work.count <= limit - most ? nil : core.work }
        guard var table else { return }
        let before = table.count(with: earlier)
        let after = table.count(with: effects)
        // A store that is full may still cancel and replace.
        if after > limit, after > before { throw WorkLimitExceeded(limit: limit) }
    }
}
