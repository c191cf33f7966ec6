import MVI
import Sessions

/// A feature whose instances are named by a key: `Keyed(examples: ["42"]) { OrderDetail(id: $0) }` serves
/// `order-detail:42`.
///
/// Clients cannot guess which keys there are. Examples tell them: `GET /features/<name>` lists the keys, with the view
/// state of a new store of the first one, and so does a refusal of an unknown key.
public struct Keyed<F: Feature>: Sendable {
    @usableFromInline let make: @Sendable (_ key: String, _ context: InstanceContext) throws -> F?
    @usableFromInline let examples: [String]
    /// Makes an instance of an example key; nil where that takes a caller.
    @usableFromInline let makeExample: (@Sendable (_ key: String) throws -> F?)?

    /// A feature made for each key, `[A-Za-z0-9._~-]{1,64}`.
    ///
    /// - Parameters:
    ///   - examples: keys to try, which everybody may read. `make` is called with each once when the server starts, before
    ///     its `services` run; one for which it returns nil or throws stops the start with an error. A `Refusal` does not: the
    ///     key is listed without a state. Nor is a state shown where an access rule (`requires`) says who may use the
    ///     feature. `FeatureTypes` names the keys without a call.
    ///   - make: called when a session first names the key, on the thread of the request, and when its store comes
    ///     back from the journal; must not block. Nil means that there is nothing under this key: the client gets 404
    ///     `feature-not-found`. So does a throw, which is logged, but for a `Refusal`, which is the answer.
    @inlinable
    public init(examples: [String] = [], _ make: @escaping @Sendable (_ key: String) throws -> F?) {
        self.make = { key, _ in try make(key) }
        (self.examples, makeExample) = (examples, make)
    }

    /// The same for one that asks who names the key. A store that comes back from the journal has no principal: then the
    /// session's subject says whose it is.
    ///
    /// - Parameters:
    ///   - examples: keys to try, which everybody may read. They are listed as they are: no caller is there when the server
    ///     starts, so `make` is not called with them, and no state is shown.
    ///   - make: as above.
    @inlinable
    public init(
        examples: [String] = [], _ make: @escaping @Sendable (_ key: String, _ context: InstanceContext) throws -> F?
    ) {
        self.make = make
        (self.examples, makeExample) = (examples, nil)
    }
}
