import Logging
import MVI
import Sessions

/// A feature of a server's content.
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

    /// The same feature with one more access rule: a principal has to satisfy all of them. See `Feature.requires`.
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        requires { principal, _, _ in rule(principal) }
    }

    /// The same feature with one more access rule: a principal has to satisfy all of them. See `Keyed.requires`.
    public func requires(
        _ rule: @escaping @Sendable (_ principal: Principal, _ key: String?, _ access: Access) -> Bool
    ) -> ServedFeature {
        var feature = self
        let earlier = self.rule
        feature.rule = { principal, key, access in
            guard let principal else { return false }
            return earlier?(principal, key, access) != false && rule(principal, key, access)
        }
        return feature
    }

    @usableFromInline
    static func note(_ error: any Error, _ key: String, _ feature: String, _ logger: Logger) {
        logger.info(
            "A feature refused a key", metadata: ["feature": "\(feature)", "key": "\(key)", "error": "\(error)"])
    }

    /// Throws `FeatureDefinitionError`.
    ///
    /// - Parameter makesExamples: true to make instances of the example keys, for which their makers may need data.
    func definition(makesExamples: Bool, _ logger: Logger) throws -> FeatureDefinition {
        try define(rule, makesExamples, logger)
    }
}

extension Feature {
    /// The feature with an access rule: `Offers().requires { $0.claim("tier") == "premium" }`. Anonymous clients are
    /// refused.
    ///
    /// The rule is called when a request arrives, when it acts, before each write to a stream, and for turns of other
    /// stores. It is called from any thread and must not block. If it depends on more than the principal, call
    /// `SessionDirectory.recheck(subject:)` after a change: open streams are then checked again.
    @inlinable
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }

    /// The feature with an access rule that distinguishes reads, intents and disposals. The key is nil. See
    /// `requires(_:)`.
    @inlinable
    public func requires(
        _ rule: @escaping @Sendable (_ principal: Principal, _ key: String?, _ access: Access) -> Bool
    ) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }
}

extension Keyed {
    /// The feature with an access rule for all keys. See `Feature.requires`.
    @inlinable
    public func requires(_ rule: @escaping @Sendable (Principal) -> Bool) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }

    /// The feature with an access rule for each key and kind of access, which may read the author's data:
    ///
    ///     Keyed { Ticket(id: $0, desk) }.requires { principal, key, access in
    ///         principal.claim("role") == "staff" || access == .read && desk.isCustomer(principal.subject, of: key)
    ///     }
    ///
    /// A refused key answers 403 whether it exists or not. The key is nil for the feature as a whole: `GET /features`
    /// lists it if it may be read. See `Feature.requires`.
    @inlinable
    public func requires(
        _ rule: @escaping @Sendable (_ principal: Principal, _ key: String?, _ access: Access) -> Bool
    ) -> ServedFeature {
        ServedFeature(self).requires(rule)
    }
}
