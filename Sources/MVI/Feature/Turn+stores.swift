/// Access to the other stores of the session.
extension Turn {
    /// Returns the view state of another store of the session: its committed state with the earlier turns of the same
    /// commit applied. The store is created if it does not exist.
    ///
    /// If the store must be loaded or created first, or its `observe` has no result yet, the call throws; do not catch
    /// that error. The turn is abandoned and runs again when the store is ready, or after a second without a result.
    /// Throws a `Refusal` if the access rule excludes the principal, and a
    /// `StoreError` if there is no such store.
    public mutating func view<Other: Feature>(
        of feature: Other.Type, key: String? = nil
    ) throws -> Other.ViewState {
        guard let runner = try sibling(Other.self, key) as? TurnRunner<Other> else {
            throw StoreError.notServed(Other.name)
        }
        return runner.workingView
    }

    /// Sends an intent to another store of the session, which is created if it does not exist. The intent runs directly
    /// after this turn and is committed with it. If it is refused or throws, this turn is undone, too, and its sender
    /// receives the error; both features' `onFailure` are called for a throw. Work that it launches counts for the
    /// settling of this turn's intent.
    ///
    /// The intent may send further ones, 64 in total. The other feature's interceptors apply; its asynchronous check
    /// does not.
    @inlinable
    public mutating func send<Other: Feature>(_ intent: Other.Intent, to feature: Other.Type, key: String? = nil) {
        makeRare().sends.append(
            SiblingIntent(instance: Other.instance(key), run: TurnRunner<Other>.execute(intent)))
    }

    /// Performs an action on another store of the session, in the same way as `send(_:to:key:)`, for requests that
    /// clients may not send.
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
            let found = try context.host.runner(of: instance, for: principal, isAtOnce: context.readsAtOnce)
            if isRecorded {
                // The turns before it in its chain have no number yet.
                let number = context.isSent ? 0 : context.host.number(of: instance)
                makeRare().reads.append(TurnFacts.Read(feature: instance, number: number))
            }
            return found
        } catch let absent as StoreIsAbsent {
            // Set even if the handler catches the error.
            let rare = makeRare()
            rare.missing = rare.missing ?? absent.instance
            throw absent
        }
    }
}

extension Feature {
    /// Returns the feature id, as clients write it.
    @usableFromInline
    package static func instance(_ key: String?) -> String { key.map { "\(name):\($0)" } ?? name }
}

/// An intent or an action for another store of the session, without its feature's type.
@usableFromInline
package struct SiblingIntent: Sendable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    @usableFromInline package let instance: String
    /// The turn on that feature's store.
    package let run: RunTurn

    @usableFromInline
    init(instance: String, run: @escaping RunTurn) {
        (self.instance, self.run) = (instance, run)
    }
}

/// The error for a store that a turn needs and that is not loaded or not ready.
@usableFromInline
package struct StoreIsAbsent: Error {
    package let instance: String

    @usableFromInline
    package init(instance: String) { self.instance = instance }
}

extension StoreError {
    @usableFromInline
    static func notServed(_ instance: String) -> StoreError {
        StoreError(.failed, "The server has no feature for \"\(instance)\", or it has another type.")
    }
}
