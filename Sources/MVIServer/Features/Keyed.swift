import MVI
import Sessions

/// A feature whose instances are named by a key: `Keyed { OrderDetail(id: $0) }` serves `order-detail:42`.
public struct Keyed<F: Feature>: Sendable {
    @usableFromInline let make: @Sendable (_ key: String, _ context: InstanceContext) throws -> F?

    /// A feature made for each key, `[A-Za-z0-9._~-]{1,64}`.
    ///
    /// - Parameter make: called when a session first names the key, on the thread of the request, and when its store comes
    ///   back from the journal; must not block. Nil means that there is nothing under this key: the client gets 404
    ///   `feature-not-found`. So does a throw, which is logged, but for a `Refusal`, which is the answer.
    @inlinable
    public init(_ make: @escaping @Sendable (_ key: String) throws -> F?) {
        self.make = { key, _ in try make(key) }
    }

    /// The same for one that asks who names the key. A store that comes back from the journal has no principal: then the
    /// session's subject says whose it is.
    @inlinable
    public init(_ make: @escaping @Sendable (_ key: String, _ context: InstanceContext) throws -> F?) {
        self.make = make
    }
}
