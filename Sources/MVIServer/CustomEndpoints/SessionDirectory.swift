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

    /// A store that many clients share; see ``Shared``.
    public struct SharedStore: Sendable {
        fileprivate let key: String?

        /// The store of a key; the server's, without one.
        public static func shared(_ key: String? = nil) -> SharedStore { SharedStore(key: key) }
    }

    /// Sends an intent to a shared store, which is made if there is none. Access rules are not asked, and its turn has no
    /// sender. Returns the store's version after its turn.
    ///
    /// - Parameters:
    ///   - intent: the intent.
    ///   - feature: the feature's type.
    ///   - store: the store: `.shared("42")`.
    ///   - once: an idempotency key, kept for a day: the same key does not run again.
    /// - Throws: `featureNotFound` if the feature is not shared, or has no such key; the errors of a turn.
    @discardableResult
    public func send<F: Feature>(
        _ intent: F.Intent, to feature: F.Type, in store: SharedStore, once: String? = nil
    ) async throws(StoreError) -> UInt64 {
        try await link.table.deliver(
            .intent(intent, of: F.self), toShared: Self.feature(F.name, store.key), once: once
        ).get().version
    }

    /// Performs an action, which clients cannot send, in a shared store. See `send`.
    @discardableResult
    public func perform<F: Feature>(
        _ action: F.Action, on feature: F.Type, in store: SharedStore, once: String? = nil
    ) async throws(StoreError) -> UInt64 {
        try await link.table.deliver(
            .action(action, of: F.self), toShared: Self.feature(F.name, store.key), once: once
        ).get().version
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

    /// Exports all data of a subject: a document of the format `mvi-session/1` for each session, as one line of JSON, then
    /// one of `mvi-visits/1` if the subject sent something to shared stores.
    /// Sessions that end meanwhile are missing. The order is that of creation.
    ///
    /// Anonymous sessions that the person used belong to nobody.
    public func export(subject: Subject) -> AsyncThrowingStream<[UInt8], any Error> {
        let link = link
        return AsyncThrowingStream { continuation in
            let task = Task {
                do throws(StoreError) {
                    let table = try link.table
                    for id in try await table.sessionIDs(of: subject) {
                        guard !Task.isCancelled, let export = try await table.export(id) else { continue }
                        continuation.yield(SessionDocument.line(export))
                    }
                    if let last = VisitsDocument.line(try await table.spaces(visitedBy: subject)) {
                        continuation.yield(last)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Disposes of the stores of a feature in all sessions, for example of the copies of a person's data in other people's
    /// sessions. Reads the list of all sessions once, and loads those that have such a store.
    ///
    /// - Parameters:
    ///   - feature: the feature's type.
    ///   - key: the instance of a keyed feature.
    /// - Returns: the number of disposed stores.
    /// - Throws: the error of the first session in which it fails. Repeat the call then.
    @discardableResult
    public func dispose<F: Feature>(_ feature: F.Type, key: String? = nil) async throws(StoreError) -> Int {
        let id = try Self.feature(F.name, key)
        return try await link.table.dispose(of: id)
    }

    /// The data that was deleted for a subject.
    public struct Forgotten: Codable, Hashable, Sendable {
        public let sessions: Int
        public let stores: Int
        /// The size of the stores' states and view states.
        public let bytes: Int
        /// The spaces of shared stores to which the subject sent something.
        public let spaces: Int
    }

    /// Deletes all data of a subject: ends its sessions, deletes their rows from the journal's tables and files, and has
    /// shared stores remove the person, see `Feature.forgetting`.
    /// Disable the subject's account first: a later sign-in begins anew. Backups are not changed.
    ///
    /// Calls the server's `onForget` first. After an error or a crash, repeat the call.
    ///
    /// - Throws: `unavailable` if `onForget` failed, which deletes nothing, if a shared store did not remove the person, or if
    ///   the journal does not work.
    @discardableResult
    public func forget(subject: Subject) async throws(StoreError) -> Forgotten {
        let data = try await link.table.forget(subject)
        return Forgotten(
            sessions: data.sessions, stores: data.stores, bytes: data.bytes, spaces: data.spaces)
    }

    /// Sets what deletes a subject's data outside the sessions, see `FeatureServer`.
    package func onForget(_ action: @escaping @Sendable (Subject) async throws -> Void) { link.onForget(action) }

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
        var forgetAction: (@Sendable (Subject) async throws -> Void)?
    }

    private let state = Lock(State())

    var table: SessionTable {
        get throws(StoreError) {
            guard let table = state.withLock({ $0.table }) else { throw .notRunning }
            return table
        }
    }

    func connect(_ table: SessionTable) {
        let (actions, forgetAction) = state.withLock { state in
            state.table = table
            defer { state.endActions = [] }
            return (state.endActions, state.forgetAction)
        }
        for action in actions { table.environment.onEnd(action) }
        if let forgetAction { table.environment.onForget(forgetAction) }
    }

    func onForget(_ action: @escaping @Sendable (Subject) async throws -> Void) {
        let table = state.withLock { state in
            state.forgetAction = action
            return state.table
        }
        table?.environment.onForget(action)
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
