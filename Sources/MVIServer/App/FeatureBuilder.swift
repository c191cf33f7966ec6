import MVI

/// The content of a server: features and custom endpoints.
public struct ServerContent: Sendable {
    /// The features, in order.
    public let features: [ServedFeature]
    /// The endpoints, in order.
    public let endpoints: [Endpoint]

    /// Creates content.
    public init(features: [ServedFeature] = [], endpoints: [Endpoint] = []) {
        (self.features, self.endpoints) = (features, endpoints)
    }

    /// True without features and endpoints.
    var isEmpty: Bool { features.isEmpty && endpoints.isEmpty }

    fileprivate init(_ parts: [ServerContent]) {
        self.init(features: parts.flatMap(\.features), endpoints: parts.flatMap(\.endpoints))
    }
}

/// Builds the content of a `FeatureServer`: features, keyed features in `Keyed { … }`, and endpoints, with `if` and
/// `for`.
@resultBuilder
public enum FeatureBuilder {
    /// A feature with one instance for each session.
    @inlinable
    public static func buildExpression(_ feature: some Feature) -> ServerContent {
        ServerContent(features: [ServedFeature(feature)])
    }

    /// A feature with one instance for each key.
    @inlinable
    public static func buildExpression<F: Feature>(_ keyed: Keyed<F>) -> ServerContent {
        ServerContent(features: [ServedFeature(keyed)])
    }

    /// A feature with an access rule.
    public static func buildExpression(_ feature: ServedFeature) -> ServerContent {
        ServerContent(features: [feature])
    }

    /// A shared feature has to say who may use it.
    @available(
        *, unavailable, message: "say who may use it: add .allows(.everyone) or .allows { who, key, access in … }"
    )
    public static func buildExpression(_ shared: Shared) -> ServerContent { ServerContent() }

    /// A custom endpoint.
    public static func buildExpression(_ endpoint: Endpoint) -> ServerContent { ServerContent(endpoints: [endpoint]) }

    /// Existing content.
    public static func buildExpression(_ content: ServerContent) -> ServerContent { content }

    /// The statements of a block, in order.
    public static func buildBlock(_ parts: ServerContent...) -> ServerContent { ServerContent(parts) }

    /// `if` without `else`.
    public static func buildOptional(_ part: ServerContent?) -> ServerContent { part ?? ServerContent() }

    /// `if`.
    public static func buildEither(first part: ServerContent) -> ServerContent { part }

    /// `else`.
    public static func buildEither(second part: ServerContent) -> ServerContent { part }

    /// `for`.
    public static func buildArray(_ parts: [ServerContent]) -> ServerContent { ServerContent(parts) }
}
