import MVI

/// Whether a principal may use a feature. A function of the principal, called from any thread, never under a lock; must
/// not block.
@usableFromInline
package typealias AccessRule = @Sendable (Principal) -> Bool

extension FeatureDefinition {
    /// Whether the feature may be used: by somebody who is not signed in only where there is no rule.
    package func allows(_ principal: Principal?) -> Bool {
        guard let rule else { return true }
        return principal.map(rule) ?? false
    }

    /// Refuses who may not use the feature.
    func check(_ principal: Principal?) throws(StoreError) {
        guard allows(principal) else { throw .noAccess }
    }
}

extension StoreError {
    static let noAccess = StoreError(.forbidden, "You may not use this feature.")
}
