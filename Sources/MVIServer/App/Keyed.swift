import MVI
import Sessions

/// A feature whose instances are named by a key: `Keyed(examples: ["42"]) { OrderDetail(id: $0) }` serves
/// `order-detail:42`.
///
/// Clients learn keys from examples: `GET /features/<name>` and the refusal of an unknown key list them. `GET
/// /features/<name>` also has the view state of a new store of the first key.
public struct Keyed<F: Feature>: Sendable {
    @usableFromInline let make: @Sendable (_ key: String, _ context: InstanceContext) throws -> F?
    @usableFromInline let examples: [String]
    /// Makes an instance of an example key; nil if that needs a caller.
    @usableFromInline let makeExample: (@Sendable (_ key: String) throws -> F?)?

    /// Creates a feature with an instance for each key, `[A-Za-z0-9._~-]{1,64}`.
    ///
    /// - Parameters:
    ///   - examples: public example keys. `make` is called once with each when the server starts, before its `services`
    ///     run. If it returns nil or throws, the start fails; with a `Refusal`, the key is listed without a state. With
    ///     an access rule (`requires`), no state is shown. `FeatureTypes` does not call `make`.
    ///   - make: called when a session first names the key, on the request's thread, and when its store is loaded from
    ///     the journal; must not block. Nil means that the key does not exist: the client gets 404 `feature-not-found`.
    ///     A `Refusal` becomes the answer; other errors are logged and become a 404.
    @inlinable
    public init(examples: [String] = [], _ make: @escaping @Sendable (_ key: String) throws -> F?) {
        self.make = { key, _ in try make(key) }
        (self.examples, makeExample) = (examples, make)
    }

    /// Creates a feature whose instances depend on the caller. A store that is loaded from the journal has no
    /// principal; use the session's subject.
    ///
    /// - Parameters:
    ///   - examples: public example keys. They are listed without a call of `make` and without a state, because there
    ///     is no caller.
    ///   - make: see the other initializer.
    @inlinable
    public init(
        examples: [String] = [], _ make: @escaping @Sendable (_ key: String, _ context: InstanceContext) throws -> F?
    ) {
        self.make = make
        (self.examples, makeExample) = (examples, nil)
    }
}
