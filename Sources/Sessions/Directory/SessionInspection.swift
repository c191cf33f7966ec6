import Locking
import MVI
import SessionJournal
import WireJSON

/// A description of a session: its stored data and its data in this process's memory.
package struct SessionInspection: Sendable {
    /// The stored session, without states; nil for a session without a turn.
    package let kept: StoredSession?
    /// The time since 1970 at which the unused session expires. Nil while a reminder keeps it alive.
    package let expiresAt: Duration?
    /// The stored stores, without their values, in the order of their names.
    package let stores: [Store]
    /// Nil if it is not in this process's memory.
    package let memory: SessionInMemory?
    /// The reason why the stored data is invalid; such a session can only be ended.
    package let damage: String?
    /// The node that runs its turns; nil if any node may.
    package let owner: Owner?

    package struct Store: Sendable {
        package let summary: StoreSummary
        package let schemaVersion: Int
        /// The bytes of the state and of its view state.
        package let bytes: Int
        package let viewBytes: Int
    }

    package struct Owner: Sendable {
        package let node: NodeID
        /// True if it is this process.
        package let isHere: Bool
        /// The address for other nodes; nil if the node is not among the living ones.
        package let address: String?
    }
}

/// Sessions by their ids, for an administrator. Only `deliver` and `end` count as use.
extension SessionTable {
    /// Returns the hash of the session's own token; nil if there is no such session. A session without a turn is found
    /// only in memory.
    package func token(ofID id: String) async throws(StoreError) -> TokenHash? {
        // A damaged session is found only in memory.
        try await records(.id(id)).first?.tokenHash ?? sessions.first { $0.id == id }?.tokenHash
    }

    /// Returns the description of a session; nil if there is none.
    package func inspect(_ id: String) async throws(StoreError) -> SessionInspection? {
        guard let token = try await token(ofID: id) else { return nil }
        let memory = shard(token).withLock { $0.sessions[token] }
        switch try await load(token) {
        case .found(let stored):
            let stores = try await stores(stored.stores.map(\.feature), of: stored).map { store in
                SessionInspection.Store(
                    summary: store.summary, schemaVersion: store.schemaVersion, bytes: store.state.count,
                    viewBytes: store.view.count)
            }
            let now = environment.time.sinceEpoch()
            let isReminded = stored.reminders.contains { now < $0.due + StoredReminder.sessionLife }
            let life = environment.limits.lives[stored.record.lifeClass]
            let expiresAt = isReminded || life >= SessionLimits.forever ? nil : stored.record.lastSeen + life
            return SessionInspection(
                kept: stored, expiresAt: expiresAt,
                stores: stores.sorted { $0.summary.feature.text < $1.summary.feature.text },
                memory: memory?.inMemory, damage: stored.fault.map(\.detail), owner: owner(stored.owner))
        case .damaged(_, let reason):
            return SessionInspection(
                kept: nil, expiresAt: nil, stores: [], memory: memory?.inMemory, damage: reason, owner: nil)
        case .ended, .unknown:
            guard let memory, !memory.isEnded, !memory.hasLeft else { return nil }
            return SessionInspection(
                kept: nil, expiresAt: nil, stores: [], memory: memory.inMemory, damage: nil, owner: nil)
        }
    }

    /// Returns a stored store with its values.
    package func keptStore(_ feature: FeatureID, of id: String) async throws(StoreError) -> KeptStore {
        guard let token = try await token(ofID: id) else { return .noSession }
        switch try await load(token) {
        case .found(let stored):
            let store = try await stores([feature], of: stored).first
            return store.map { .store($0) } ?? .noStore
        case .damaged(_, let reason): throw StoreError(.unavailable, reason)
        case .ended, .unknown: return .noStore
        }
    }

    package enum KeptStore: Sendable {
        case store(StoredStore)
        case noStore, noSession
    }

    /// Returns the sessions in memory with one of the ids, and their numbers of streams and loaded stores.
    package func inMemory(_ ids: Set<String>) -> [String: (streams: Int, stores: Int)] {
        guard !ids.isEmpty else { return [:] }
        var found: [String: (streams: Int, stores: Int)] = [:]
        for session in sessions where ids.contains(session.id) {
            found[session.id] = (session.streamCount, session.liveStoreCount)
        }
        return found
    }

    /// Runs an intent in a session.
    ///
    /// - Parameters:
    ///   - body: the intent as JSON. An invalid one fails with `malformed`, `mismatch` or `unknownIntent`.
    ///   - once: a name for this delivery. A second delivery with the same name does not run.
    package func deliver(
        _ body: [UInt8], to feature: FeatureID, of token: TokenHash, once: String?, makesStore: Bool
    ) async -> IntentResult {
        guard let definition = environment.features.definition(for: feature) else { return .failure(.featureNotFound) }
        let delivery: Delivery
        do throws(WireDecodingError) { delivery = try definition.delivery(body) } catch {
            return .failure(StoreError(error))
        }
        return await deliver(delivery, to: feature, of: token, once: once, makesStore: makesStore)
    }

    /// Returns stored sessions, newest first.
    package func list(
        of subject: Subject?, before: SessionKey?, limit: Int
    ) async throws(StoreError) -> [SessionOverview] {
        try await awaitResult { environment.journal.list(of: subject, before: before, limit: limit, done: $0) }.get()
    }

    private func load(_ token: TokenHash) async throws(StoreError) -> SessionLoad {
        let now = lifeTime(Moment(environment.time))
        return try await awaitResult { environment.journal.load(token, now: now, done: $0) }.get()
    }

    private func stores(
        _ features: [FeatureID], of session: StoredSession
    ) async throws(StoreError) -> [StoredStore] {
        guard !features.isEmpty else { return [] }
        return try await awaitResult {
            environment.journal.loadStores(features, of: session.key, named: session.record.tokenHash, done: $0)
        }.get().stores
    }

    private func owner(_ owner: SessionOwner?) -> SessionInspection.Owner? {
        guard let owner, owner.node != .nobody else { return nil }
        let isHere = owner.node == environment.lease?.id
        return SessionInspection.Owner(
            node: owner.node, isHere: isHere, address: environment.lease?.node(owner.node)?.address)
    }
}
