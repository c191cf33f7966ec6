import MVI

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
