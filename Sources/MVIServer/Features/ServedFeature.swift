import Logging
import MVI
import Sessions

/// A feature as a server was given it, on the way to its definition.
public struct ServedFeature: Sendable {
    @usableFromInline
    let define: @Sendable (_ rule: AccessRule?, _ makesExamples: Bool, _ logger: Logger) throws -> FeatureDefinition
    @usableFromInline var rule: AccessRule?

    /// One instance for each session.
    @inlinable
    public init<F: Feature>(_ feature: F) {
        define = { rule, _, _ in try FeatureDefinition(feature, rule: rule) }
    }

    /// One instance for each key and session.
    @inlinable
    public init<F: Feature>(_ keyed: Keyed<F>) {
        define = { rule, makesExamples, logger in
            let examples = ExampleKeys<F>(keyed.examples, make: makesExamples ? keyed.makeExample : nil)
            return try FeatureDefinition(rule: rule, examples: examples) { key, context -> F? in
                do {
                    return try keyed.make(key, context)
                } catch let refusal as Refusal {
                    throw refusal
                } catch {
                    Self.note(error, key, F.name, logger)
                    return nil
                }
            }
        }
    }

    /// The same for those only of whom all rules say so, these and those before; nobody who is not signed in. See
    /// `Feature.requires`.
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        var feature = self
        let earlier = self.rule
        feature.rule = { principal in earlier?(principal) != false && rule(principal) }
        return feature
    }

    @usableFromInline
    static func note(_ error: any Error, _ key: String, _ feature: String, _ logger: Logger) {
        logger.info(
            "A feature refused a key", metadata: ["feature": "\(feature)", "key": "\(key)", "error": "\(error)"])
    }

    /// Throws `FeatureDefinitionError`.
    ///
    /// - Parameter makesExamples: whether instances of the example keys are made, which their makers may need data for.
    func definition(makesExamples: Bool, _ logger: Logger) throws -> FeatureDefinition {
        try define(rule, makesExamples, logger)
    }
}

extension Feature {
    /// The feature for those only of whom a rule says so: `Offers().requires { $0.claim("tier") == "premium" }`. Nobody may
    /// use it who is not signed in.
    ///
    /// Tested when a request comes, before each write to a stream, and when an answer was waited for. The rule is a
    /// function of the principal, called from any thread; it must not block. Where it depends on more than that,
    /// `SessionDirectory.recheck(subject:)` has running streams tested anew.
    @inlinable
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }
}

extension Keyed {
    /// See `Feature.requires`.
    @inlinable
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }
}
