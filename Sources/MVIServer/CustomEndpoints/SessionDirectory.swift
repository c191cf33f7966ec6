import Locking
import MVI
import SessionJournal
import Sessions

/// A server's sessions, for code that is outside of them: a payment's webhook, a job, the work of an administrator's
/// feature.
///
/// What it sends to a session is a turn as every other: the session's streams show it. There is no transaction over
/// several sessions. As long as the server does not run, and after its end, calls throw `unavailable`.
public struct SessionDirectory: Sendable {
    private let link: TableLink

    /// The sessions of a server that is yet to be made.
    package init() { link = TableLink() }

    package init(_ table: SessionTable) {
        self.init()
        connect(table)
    }

    /// The server was made. Called once.
    package func connect(_ table: SessionTable) { link.connect(table) }

    /// The outcome of a delivery.
    public struct Outcome: Sendable {
        /// The session's id.
        public let session: String
        /// The store's version after the turn, or why there was none: `noStore` where the session has no such store.
        public let result: Result<UInt64, StoreError>
        /// True if it ran at an earlier call with the same `once`.
        public let isRepeated: Bool
    }

    /// A session that is there.
    public struct Entry: Codable, Hashable, Sendable {
        /// The id that clients see.
        public let id: String
        /// The subject; nil if anonymous.
        public let subject: Subject?
        /// True if the subject's devices share it.
        public let isShared: Bool
        /// The time at which it was created.
        public let created: Timestamp
        /// The time of its last recorded use, at most some minutes behind.
        public let lastSeen: Timestamp
    }

    /// Sends an intent to a feature of a session; returns the store's version after its turn.
    ///
    /// - Parameters:
    ///   - intent: the intent.
    ///   - feature: the feature's type.
    ///   - key: the instance of a keyed feature.
    ///   - session: the id that clients see.
    ///   - once: a name for this sending, kept for a day as receipts are: the same name again does not run again.
    ///   - makesStore: whether a store that is not there is made. Without it the call fails with `noStore`.
    /// - Throws: `gone` if there is no such session; what a turn may throw.
    @discardableResult
    public func send<F: Feature>(
        _ intent: F.Intent, to feature: F.Type, key: String? = nil, session: String, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> UInt64 {
        try await deliver(.intent(intent, of: F.self), F.self, key, session, once, makesStore)
    }

    /// Has a feature of a session perform an action, which no client can send. See `send`.
    @discardableResult
    public func perform<F: Feature>(
        _ action: F.Action, on feature: F.Type, key: String? = nil, session: String, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> UInt64 {
        try await deliver(.action(action, of: F.self), F.self, key, session, once, makesStore)
    }

    /// Sends an intent to a feature of all sessions that a subject has now, in memory or not; says what became of each.
    @discardableResult
    public func send<F: Feature>(
        _ intent: F.Intent, to feature: F.Type, key: String? = nil, subject: Subject, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> [Outcome] {
        try await deliver(.intent(intent, of: F.self), F.self, key, subject, once, makesStore)
    }

    /// Has a feature of all sessions that a subject has now perform an action; says what became of each.
    @discardableResult
    public func perform<F: Feature>(
        _ action: F.Action, on feature: F.Type, key: String? = nil, subject: Subject, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> [Outcome] {
        try await deliver(.action(action, of: F.self), F.self, key, subject, once, makesStore)
    }

    private func deliver<F: Feature>(
        _ delivery: Delivery, _ feature: F.Type, _ key: String?, _ session: String, _ once: String?, _ makesStore: Bool
    ) async throws(StoreError) -> UInt64 {
        let id = try Self.feature(F.name, key)
        let table = try link.table
        guard let record = try await table.records(.id(session)).first else { throw .noSession }
        return try await table.deliver(delivery, to: id, of: record, once: once, makesStore: makesStore).get().version
    }

    private func deliver<F: Feature>(
        _ delivery: Delivery, _ feature: F.Type, _ key: String?, _ subject: Subject, _ once: String?,
        _ makesStore: Bool
    ) async throws(StoreError) -> [Outcome] {
        let id = try Self.feature(F.name, key)
        let table = try link.table
        let records = try await table.records(.subject(subject))
        let results = await table.deliver(delivery, to: id, of: records, once: once, makesStore: makesStore)
        return zip(records, results).map { record, result in
            Outcome(
                session: record.id, result: result.map(\.version),
                isRepeated: (try? result.get().isReplayed) ?? false)
        }
    }

    private static func feature(_ name: String, _ key: String?) throws(StoreError) -> FeatureID {
        guard let id = FeatureID(key.map { "\(name):\($0)" } ?? name) else {
            throw StoreError(.featureNotFound, "\"\(key ?? "")\" is no key.")
        }
        return id
    }

    /// The sessions that a subject has now.
    public func sessions(of subject: Subject) async throws(StoreError) -> [Entry] {
        try await link.table.records(.subject(subject)).map { record in
            Entry(
                id: record.id, subject: record.subject, isShared: record.isShared,
                created: Timestamp(sinceEpoch: record.created), lastSeen: Timestamp(sinceEpoch: record.lastSeen))
        }
    }

    /// Ends a session: its work is cancelled, its streams end, and it is forgotten. Nothing happens if there is none.
    public func end(session id: String) async throws(StoreError) {
        let table = try link.table
        guard let record = try await table.records(.id(id)).first else { return }
        try await table.end(record)
    }

    /// Calls `action` whenever a session in memory has ended, with what was known of it; also one that expired there. Called
    /// from any thread; must not block. Those that expire out of memory are not told of.
    public func onEnd(_ action: @escaping @Sendable (SessionInfo) -> Void) { link.onEnd(action) }

    /// Tests the streams of a subject anew, where an access rule depends on more than the principal's claims.
    public func recheck(subject: Subject) { try? link.table.recheck(subject) }
}

/// The way from a directory to the sessions, which are made after the features that hold it.
private final class TableLink: Sendable {
    private struct State {
        /// The server's own: it holds the features, and so this.
        weak var table: SessionTable?
        /// The actions that were registered before sessions existed.
        var endActions: [@Sendable (SessionInfo) -> Void] = []
    }

    private let state = Lock(State())

    var table: SessionTable {
        get throws(StoreError) {
            guard let table = state.withLock({ $0.table }) else { throw .notRunning }
            return table
        }
    }

    func connect(_ table: SessionTable) {
        let actions = state.withLock { state in
            state.table = table
            defer { state.endActions = [] }
            return state.endActions
        }
        for action in actions { table.environment.onEnd(action) }
    }

    func onEnd(_ action: @escaping @Sendable (SessionInfo) -> Void) {
        let table = state.withLock { state in
            if state.table == nil { state.endActions.append(action) }
            return state.table
        }
        table?.environment.onEnd(action)
    }
}

extension StoreError.Code {
    /// The session has no such store, and none was to be made.
    public static let noStore = StoreError.Code("noStore")
}

extension StoreError {
    fileprivate static let notRunning = StoreError(.unavailable, "The server does not run.")
    fileprivate static let noSession = StoreError(.gone, "There is no such session.")
}
