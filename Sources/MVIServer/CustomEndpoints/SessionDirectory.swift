import Locking
import MVI
import SessionJournal
import Sessions

/// Access to a server's sessions from code outside of them: webhooks, jobs and administrators' features.
///
/// Everything sent to a session is a normal turn that its streams show. There are no transactions over several
/// sessions. Calls throw `unavailable` while the server does not run.
public struct SessionDirectory: Sendable {
    private let link: TableLink

    /// Creates a directory for a server that does not exist yet.
    package init() { link = TableLink() }

    package init(_ table: SessionTable) {
        self.init()
        connect(table)
    }

    /// Connects the directory to its server. Called once.
    package func connect(_ table: SessionTable) { link.connect(table) }

    /// The outcome of an intent or action.
    public struct Outcome: Sendable {
        /// The session's id.
        public let session: String
        /// The store's version after the turn, or the error: `noStore` if the session has no such store.
        public let result: Result<UInt64, StoreError>
        /// True if it ran at an earlier call with the same `once`.
        public let isRepeated: Bool
    }

    /// An existing session.
    public struct Entry: Codable, Hashable, Sendable {
        /// The id that clients see.
        public let id: String
        /// The owner; nil for an anonymous session.
        public let subject: Subject?
        /// True if the subject's devices share it.
        public let isShared: Bool
        /// The time of creation.
        public let created: Timestamp
        /// The last recorded use, which may be some minutes older than the last use.
        public let lastSeen: Timestamp
    }

    /// Sends an intent to a feature of a session. Returns the store's version after its turn.
    ///
    /// - Parameters:
    ///   - intent: the intent.
    ///   - feature: the feature's type.
    ///   - key: the instance of a keyed feature.
    ///   - session: the id that clients see.
    ///   - once: an idempotency key, kept for a day: the same key does not run again.
    ///   - makesStore: true to make a missing store. Otherwise the call fails with `noStore`.
    /// - Throws: `gone` if there is no such session; the errors of a turn.
    @discardableResult
    public func send<F: Feature>(
        _ intent: F.Intent, to feature: F.Type, key: String? = nil, session: String, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> UInt64 {
        try await deliver(.intent(intent, of: F.self), F.self, key, session, once, makesStore)
    }

    /// Performs an action, which clients cannot send, in a feature of a session. See `send`.
    @discardableResult
    public func perform<F: Feature>(
        _ action: F.Action, on feature: F.Type, key: String? = nil, session: String, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> UInt64 {
        try await deliver(.action(action, of: F.self), F.self, key, session, once, makesStore)
    }

    /// Sends an intent to a feature of all current sessions of a subject, in memory or not. Returns each outcome.
    @discardableResult
    public func send<F: Feature>(
        _ intent: F.Intent, to feature: F.Type, key: String? = nil, subject: Subject, once: String? = nil,
        makesStore: Bool = false
    ) async throws(StoreError) -> [Outcome] {
        try await deliver(.intent(intent, of: F.self), F.self, key, subject, once, makesStore)
    }

    /// Performs an action in a feature of all current sessions of a subject. Returns each outcome.
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
            throw StoreError(.featureNotFound, "\"\(key ?? "")\" is not a key.")
        }
        return id
    }

    /// Returns the current sessions of a subject.
    public func sessions(of subject: Subject) async throws(StoreError) -> [Entry] {
        try await link.table.records(.subject(subject)).map { record in
            Entry(
                id: record.id, subject: record.subject, isShared: record.isShared,
                created: Timestamp(sinceEpoch: record.created), lastSeen: Timestamp(sinceEpoch: record.lastSeen))
        }
    }

    /// Ends a session: cancels its work, ends its streams and deletes it. Does nothing if it does not exist.
    public func end(session id: String) async throws(StoreError) {
        let table = try link.table
        guard let record = try await table.records(.id(id)).first else { return }
        try await table.end(record)
    }

    /// Calls `action` after the end of each session in memory, including those that expire there. Called from any
    /// thread; must not block. Not called for sessions that expire outside of memory.
    public func onEnd(_ action: @escaping @Sendable (SessionInfo) -> Void) { link.onEnd(action) }

    /// Checks the streams of a subject again, for access rules that depend on more than the principal's claims.
    public func recheck(subject: Subject) { try? link.table.recheck(subject) }
}

/// The connection from a directory to the sessions, which are created after the features that hold the directory.
private final class TableLink: Sendable {
    private struct State {
        /// Owned by the server, which holds the features and so this object.
        weak var table: SessionTable?
        /// Actions that were added before the sessions existed.
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
    /// The session has no such store, and the call does not make one.
    public static let noStore = StoreError.Code("noStore")
}

extension StoreError {
    fileprivate static let notRunning = StoreError(.unavailable, "The server does not run.")
    fileprivate static let noSession = StoreError(.gone, "There is no such session.")
}
