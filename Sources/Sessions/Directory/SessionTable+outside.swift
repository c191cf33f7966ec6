import Locking
import MVI
import SessionJournal

/// Access to sessions without their tokens, for code outside the features.
extension SessionTable {
    /// The maximum number of sessions of one subject that a query returns.
    private static let recordLimit = 10_000

    /// Returns the sessions that match a query. A session without a turn is found by its id only in memory; elsewhere
    /// it exists only in its token.
    package func records(_ query: SessionQuery) async throws(StoreError) -> [SessionRecord] {
        let kept = try await awaitResult { environment.journal.find(query, limit: Self.recordLimit, done: $0) }.get()
        guard kept.isEmpty, case .id(let id) = query else { return kept }
        return sessions.first { $0.id == id }?.unkeptRecord.map { [$0] } ?? []
    }

    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, of record: SessionRecord, once: String?, makesStore: Bool
    ) async -> IntentResult {
        await deliver(delivery, to: feature, of: record.tokenHash, once: once, makesStore: makesStore)
    }

    /// The number of sessions to which one delivery goes at once, so that a slow session does not delay the others.
    private static let deliveries = 16

    /// Runs an intent or an action in several sessions. The results are in their order.
    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, of records: [SessionRecord], once: String?, makesStore: Bool
    ) async -> [IntentResult] {
        await withTaskGroup(of: (Int, IntentResult).self) { group in
            var results = [IntentResult?](repeating: nil, count: records.count)
            for (index, record) in records.enumerated() {
                if index >= Self.deliveries, let (index, result) = await group.next() { results[index] = result }
                group.addTask { [self] in
                    (index, await deliver(delivery, to: feature, of: record, once: once, makesStore: makesStore))
                }
            }
            for await (index, result) in group { results[index] = result }
            return results.map { $0 ?? .failure(.sessionEnded) }
        }
    }

    /// Runs it in the session that began with a token.
    func deliver(
        _ delivery: Delivery, to feature: FeatureID, of token: TokenHash, once: String?, makesStore: Bool
    ) async -> IntentResult {
        switch await found(token) {
        case .live(let session, _):
            await whereOwned(session) {
                session.deliver(delivery, to: feature, once: once, makesStore: makesStore, completion: $0)
            }
        case .damaged(_, let error), .failed(let error): .failure(error)
        case .ended, .unknown: .failure(.sessionEnded)
        }
    }

    /// The number of requests for a session that another node owns.
    private static var tries: Int { 6 }

    /// Returns the result of `body`, which runs a turn in a session, when no other node owns that.
    func whereOwned<Value: Sendable>(
        _ session: Session, _ body: (@escaping Done<Value>) -> Void
    ) async -> Result<Value, StoreError> {
        await whereOwned(
            session,
            isElsewhere: { if case .failure(let error) = $0 { error.code == .elsewhere } else { false } },
            { await awaitResult(body) })
    }

    /// The same for results of any kind.
    ///
    /// - Parameters:
    ///   - isElsewhere: true for the result that another node owns the session.
    ///   - asking: asks that node for the result. Without one, or if it returns nil, the node gives the session away.
    func whereOwned<Value: Sendable>(
        _ session: Session, isElsewhere: (Value) -> Bool, asking: (NodeRecord) async -> Value? = { _ in nil },
        _ body: () async -> Value
    ) async -> Value {
        var count = 0
        while true {
            let result = await body()
            guard environment.lease != nil, isElsewhere(result), count < Self.tries else { return result }
            if let owner = session.owningNode, let answer = await asking(owner) {
                guard isElsewhere(answer) else { return answer }
            } else {
                await environment.ask(for: session)
            }
            if count > 0 {
                try? await environment.clock.sleep(for: environment.stores.pause(afterFailures: count))
            }
            await session.caughtUp()
            count += 1
        }
    }

    package func end(_ record: SessionRecord) async throws(StoreError) { try await end(record.tokenHash) }

    /// Ends the session that began with a token.
    package func end(_ token: TokenHash) async throws(StoreError) {
        let lookup = await found(token)
        // The session may exist.
        if case .failed(let error) = lookup { throw error }
        guard let session = lookup.session else { return }
        try await awaitResult { end(session, completion: $0) }.get()
    }

    /// Tests the access of a subject's streams again.
    package func recheck(_ subject: Subject) {
        for session in sessions where session.info.subject == subject { session.recheck { _ in true } }
    }
}

extension Session {
    /// Runs an intent or an action from outside the features.
    ///
    /// - Parameter once: a name for this delivery. A second delivery with the same name does not run.
    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, once: String?, makesStore: Bool,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        // All clients of a space see it.
        let id = space == nil ? once.map { IntentID("‹outside› \($0)") } ?? .random() : .random()
        // No client can write this character.
        let request = IntentRequest(
            body: Array(feature.text.utf8), name: once.map { .key("\u{1E}\($0)") }, wantsState: false)
        startLoads([feature])
        IntentJob(
            self, request, feature, id, .turn(delivery.turn, check: nil),
            outside: makesStore ? .makesStore : .needsStore,
            record: nil, completion: completion
        ).arrive(at: nil)
    }
}

extension StoreError {
    static func noStore(_ feature: FeatureID) -> StoreError {
        StoreError(Code("noStore"), "The session has no store of \"\(feature)\".")
    }
}

/// An intent or an action from code outside the features, for a store, without the feature's type.
package struct Delivery: Sendable {
    /// The turn on a store of the feature.
    let turn: RunTurn

    /// An intent. Interceptors judge it like a client's; its asynchronous check is skipped.
    package static func intent<F: Feature>(_ intent: F.Intent, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.execute(intent))
    }

    package static func action<F: Feature>(_ action: F.Action, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.perform(action))
    }
}
