import Locking
import MVI
import SessionJournal

/// Sessions by other names than their tokens, for code outside the features.
extension SessionTable {
    /// How many sessions of one subject are found.
    private static let recordLimit = 10_000

    /// The sessions that a query means. One in which nothing has happened yet is found by its id where it is in memory; else
    /// it is nowhere but in its token.
    package func records(_ query: SessionQuery) async throws(StoreError) -> [SessionRecord] {
        let kept = try await awaitResult { environment.journal.find(query, limit: Self.recordLimit, done: $0) }.get()
        guard kept.isEmpty, case .id(let id) = query else { return kept }
        return sessions.first { $0.id == id }?.unkeptRecord.map { [$0] } ?? []
    }

    /// Runs an intent or an action in a session.
    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, of record: SessionRecord, once: String?, makesStore: Bool
    ) async -> IntentResult {
        await deliver(delivery, to: feature, of: record.tokenHash, once: once, makesStore: makesStore)
    }

    /// How many sessions that something is sent to run it at once: one that does not get on does not hold up the others.
    private static let deliveries = 16

    /// The same in several sessions; the results are in their order.
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

    /// The same in the session that began with a token.
    func deliver(
        _ delivery: Delivery, to feature: FeatureID, of token: TokenHash, once: String?, makesStore: Bool
    ) async -> IntentResult {
        switch await found(token) {
        case .live(let session, _):
            await deliver(delivery, to: feature, in: session, once: once, makesStore: makesStore)
        case .damaged(_, let error), .failed(let error): .failure(error)
        case .ended, .unknown: .failure(.sessionEnded)
        }
    }

    /// How often a session is asked for that other nodes own.
    private static var tries: Int { 6 }

    private func deliver(
        _ delivery: Delivery, to feature: FeatureID, in session: Session, once: String?, makesStore: Bool
    ) async -> IntentResult {
        var count = 0
        while true {
            let result = await awaitResult {
                session.deliver(delivery, to: feature, once: once, makesStore: makesStore, completion: $0)
            }
            // It cannot be sent on: the node that owns the session gives it away.
            guard environment.lease != nil, case .failure(let error) = result, error.code == .elsewhere,
                count < Self.tries
            else { return result }
            await environment.ask(for: session)
            if count > 0 {
                try? await environment.clock.sleep(for: environment.stores.pause(afterFailures: count))
            }
            await session.caughtUp()
            count += 1
        }
    }

    /// Ends a session.
    package func end(_ record: SessionRecord) async throws(StoreError) { try await end(record.tokenHash) }

    /// Ends the session that began with a token.
    package func end(_ token: TokenHash) async throws(StoreError) {
        let lookup = await found(token)
        // It may be there.
        if case .failed(let error) = lookup { throw error }
        guard let session = lookup.session else { return }
        try await awaitResult { end(session, completion: $0) }.get()
    }

    /// Tests the streams of a subject anew.
    package func recheck(_ subject: Subject) {
        for session in sessions where session.info.subject == subject { session.recheck { _ in true } }
    }
}

extension Session {
    /// Runs an intent or an action from outside the features.
    ///
    /// - Parameter once: names it among what comes from outside: the same name does not run again.
    package func deliver(
        _ delivery: Delivery, to feature: FeatureID, once: String?, makesStore: Bool,
        completion: @escaping @Sendable (IntentResult) -> Void
    ) {
        let id = once.map { IntentID("‹outside› \($0)") } ?? .random()
        // No client can write the character.
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

/// An intent or an action for a store, from code outside the features, without the feature's type.
package struct Delivery: Sendable {
    /// Its turn on a store of the feature.
    let turn: RunTurn

    /// Interceptors judge it as they do a client's; its asynchronous check is not asked.
    package static func intent<F: Feature>(_ intent: F.Intent, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.execute(intent))
    }

    package static func action<F: Feature>(_ action: F.Action, of feature: F.Type) -> Delivery {
        Delivery(turn: TurnRunner<F>.perform(action))
    }
}
