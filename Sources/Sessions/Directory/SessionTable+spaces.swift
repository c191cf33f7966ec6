import EventStream
import MVI
import SessionJournal

/// Spaces are sessions that are found by a name.
extension SessionTable {
    /// Looks up a space if the journal need not be asked.
    package func space(inMemory name: SpaceName) -> SessionLookup? {
        guard environment.lease == nil else { return nil }
        return lookup(TokenHash(space: name), .use, now: environment.time.monotonic())
    }

    /// Looks up a space, which is made if there is none: before this returns if it is in memory, otherwise perhaps later,
    /// on another thread. It is stored with its first turn.
    ///
    /// - Parameter makes: false to find only a stored one, or one in memory.
    package func space(
        _ name: SpaceName, makes: Bool = true, completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        find(TokenHash(space: name), orMake: makes ? name : nil, completion)
    }

    /// A space without a turn, which the journal does not have.
    func enter(_ space: SpaceName, _ hash: TokenHash) -> SessionLookup {
        guard enter() else { return .failed(.tooManySessions) }
        let now = environment.time.sinceEpoch()
        let record = SessionRecord(
            id: Epoch.random(), tokenHash: hash, epoch: Epoch.random(), credential: .bearer, created: now,
            lastSeen: now, space: space)
        return Session(record, environment: environment).lookup(nil)
    }
}
