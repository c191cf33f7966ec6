import MVI

/// Whether a principal may use a feature's instance in one way. Called from any thread, never under a lock; must not block.
///
/// The key is nil for a feature without one, and where the feature as a whole is meant.
@usableFromInline
package typealias AccessRule = @Sendable (Principal, _ key: String?, Access) -> Bool

extension FeatureDefinition {
    /// Whether the feature may be used: by an anonymous client only where there is no rule.
    package func allows(_ principal: Principal?, key: String? = nil, _ access: Access) -> Bool {
        guard let rule else { return true }
        return principal.map { rule($0, key, access) } ?? false
    }
}

extension FeatureRegistry {
    /// Whether an instance has an access rule.
    func isRuled(_ feature: FeatureID) -> Bool { !ruled.isEmpty && definition(for: feature)?.rule != nil }

    /// Whether a principal may use an instance so.
    package func allows(_ principal: Principal?, _ feature: FeatureID, _ access: Access) -> Bool {
        ruled.isEmpty || definition(for: feature)?.allows(principal, key: feature.key, access) ?? true
    }
}
