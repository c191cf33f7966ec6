import MVI

/// A search for stores of a feature, or of one instance, that were not used since a time since 1970.
package struct StoreQuery: Sendable {
    /// The feature's name, or the instance's id.
    package let name: String
    package let lastSeenBefore: Duration

    package init(name: String, lastSeenBefore: Duration) {
        (self.name, self.lastSeenBefore) = (name, lastSeenBefore)
    }

    /// All stores of an instance, or of all instances of a feature.
    package init(_ feature: FeatureID) {
        self.init(name: feature.text, lastSeenBefore: .nanoseconds(Int64.max))
    }

    package func finds(_ feature: FeatureID, lastSeen: Duration) -> Bool {
        (feature.text == name || feature.name == name) && lastSeen < lastSeenBefore
    }

    /// The least text above those of the feature's keyed instances, which begin with `keyPrefix`.
    package var keyEnd: String { "\(name);" }
    package var keyPrefix: String { "\(name):" }
}

/// A page of a search for stores.
package struct FoundStores: Sendable {
    /// The own tokens of the sessions that have some.
    package var sessions: [TokenHash] = []
    /// The last session that was looked at; nil if none was left.
    package var last: SessionKey?

    package init() {}
}
