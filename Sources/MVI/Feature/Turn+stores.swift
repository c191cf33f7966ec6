/// The other stores of the session.
extension Turn {
    /// Returns the view state of another store of the session, including changes by earlier turns of the same commit.
    /// A missing store is created.
    ///
    /// A store that has to be loaded or made first abandons this turn, which runs again when it is there: the throw that
    /// this comes with must not be caught. Throws also a `Refusal` where the feature's access rule excludes the
    /// principal, and a `StoreError` where there is no such store to be had.
    public mutating func view<Other: Feature>(
        of feature: Other.Type, key: String? = nil
    ) throws -> Other.ViewState {
        guard let runner = try sibling(Other.self, key) as? TurnRunner<Other> else {
            throw StoreError.notServed(Other.name)
        }
        return runner.workingView
    }

    /// Sends an intent to another store of the session. It runs directly after this turn, before anything else, and is
    /// committed with it: a refusal or a throw there undoes this turn, too, and is what its sender is told. A throw is handed
    /// to `onFailure` of both features. A store that is not there is made. Work that it launches counts for the settling of this turn's intent.
    ///
    /// What is sent so may send further, 64 intents in all. The other feature's interceptors judge the
    /// intent; its asynchronous check is not asked.
    @inlinable
    public mutating func send<Other: Feature>(_ intent: Other.Intent, to feature: Other.Type, key: String? = nil) {
        makeRare().sends.append(
            SiblingIntent(instance: Other.instance(key), run: TurnRunner<Other>.execute(intent)))
    }

    /// Has another store of the session perform an action, as `send(_:to:key:)` has it execute an intent: for what no client
    /// may ask for.
    @inlinable
    public mutating func perform<Other: Feature>(
        _ action: Other.Action, on feature: Other.Type, key: String? = nil
    ) {
        makeRare().sends.append(
            SiblingIntent(instance: Other.instance(key), run: TurnRunner<Other>.perform(action)))
    }

    private mutating func sibling<Other: Feature>(_ feature: Other.Type, _ key: String?) throws -> any StoreRunner {
        let instance = Other.instance(key)
        if let failure = context.failures[instance] { throw failure }
        do {
            return try context.host.runner(of: instance, for: principal)
        } catch let absent as StoreIsAbsent {
            // Also where the handler catches it.
            let rare = makeRare()
            rare.missing = rare.missing ?? absent.instance
            throw absent
        }
    }
}

extension Feature {
    /// The id of an instance, as clients write it.
    @usableFromInline
    package static func instance(_ key: String?) -> String { key.map { "\(name):\($0)" } ?? name }
}

/// An intent or an action for another store of the session, without its feature's type.
@usableFromInline
package struct SiblingIntent: Sendable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    @usableFromInline package let instance: String
    /// Its turn on that feature's store.
    package let run: RunTurn

    @usableFromInline
    init(instance: String, run: @escaping RunTurn) {
        (self.instance, self.run) = (instance, run)
    }
}

/// A store that a turn needs is not in memory yet, or has something to do before.
@usableFromInline
package struct StoreIsAbsent: Error {
    package let instance: String

    @usableFromInline
    package init(instance: String) { self.instance = instance }
}

extension StoreError {
    @usableFromInline
    static func notServed(_ instance: String) -> StoreError {
        StoreError(.failed, "The server has no feature for \"\(instance)\", or it is another type's.")
    }
}
