import MVI
import SessionJournal

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
