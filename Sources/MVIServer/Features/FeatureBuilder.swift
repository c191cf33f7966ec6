import MVI

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
