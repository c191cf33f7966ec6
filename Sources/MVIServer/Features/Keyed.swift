import Logging
import MVI
import Sessions

/// A feature whose instances are named by a key: `Keyed { OrderDetail(id: $0) }` serves `order-detail:42`.
public struct Keyed<F: Feature>: Sendable {
    @usableFromInline let make: @Sendable (_ key: String) throws -> F?

    /// A feature made for each key, `[A-Za-z0-9._~-]{1,64}`.
    ///
    /// - Parameter make: called when a session first names the key, on the thread of the request; must not block.
    ///   Nil or a throw means that there is nothing under this key: the client gets 404 `feature-not-found`, and what
    ///   was thrown is logged.
    @inlinable
    public init(_ make: @escaping @Sendable (_ key: String) throws -> F?) {
        self.make = make
    }
}

/// A feature as a server was given it, on the way to its definition.
public struct ServedFeature: Sendable {
    /// Throws `FeatureDefinitionError`.
    @usableFromInline let define: @Sendable (_ logger: Logger) throws -> FeatureDefinition

    /// One instance for each session.
    @inlinable
    public init<F: Feature>(_ feature: F) {
        define = { _ in try FeatureDefinition(feature) }
    }

    /// One instance for each key and session.
    @inlinable
    public init<F: Feature>(_ keyed: Keyed<F>) {
        define = { logger in
            try FeatureDefinition(keyed: { key -> F? in
                do {
                    return try keyed.make(key)
                } catch {
                    Self.note(error, key, F.name, logger)
                    return nil
                }
            })
        }
    }

    @usableFromInline
    static func note(_ error: any Error, _ key: String, _ feature: String, _ logger: Logger) {
        logger.info(
            "A feature refused a key", metadata: ["feature": "\(feature)", "key": "\(key)", "error": "\(error)"])
    }
}

/// Collects the features of a `FeatureServer`: features by value, keyed ones in `Keyed { … }`, with `if` and `for`.
@resultBuilder
public enum FeatureBuilder {
    /// A feature with one instance for each session.
    @inlinable
    public static func buildExpression(_ feature: some Feature) -> [ServedFeature] { [ServedFeature(feature)] }

    /// A feature with one instance for each key.
    @inlinable
    public static func buildExpression<F: Feature>(_ keyed: Keyed<F>) -> [ServedFeature] { [ServedFeature(keyed)] }

    /// A list made elsewhere.
    public static func buildExpression(_ features: [ServedFeature]) -> [ServedFeature] { features }

    /// The statements of a block, in order.
    public static func buildBlock(_ parts: [ServedFeature]...) -> [ServedFeature] { parts.flatMap { $0 } }

    /// `if` without `else`.
    public static func buildOptional(_ part: [ServedFeature]?) -> [ServedFeature] { part ?? [] }

    /// `if`.
    public static func buildEither(first part: [ServedFeature]) -> [ServedFeature] { part }

    /// `else`.
    public static func buildEither(second part: [ServedFeature]) -> [ServedFeature] { part }

    /// `for`.
    public static func buildArray(_ parts: [[ServedFeature]]) -> [ServedFeature] { parts.flatMap { $0 } }
}
