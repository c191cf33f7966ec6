/// A search for stores of a feature in subjects' sessions that were not used since a time since 1970.
package struct UnusedStoreQuery: Sendable {
    package let name: String
    package let lastSeenBefore: Duration

    package init(name: String, lastSeenBefore: Duration) {
        (self.name, self.lastSeenBefore) = (name, lastSeenBefore)
    }

    /// The least text above those of the feature's keyed instances, which begin with `keyPrefix`.
    package var keyEnd: String { "\(name);" }
    package var keyPrefix: String { "\(name):" }
}

/// A page of the search for stores that were not used for long.
package struct UnusedStores: Sendable {
    /// The own tokens of the sessions that have some.
    package var sessions: [TokenHash] = []
    /// The last session that was looked at; nil if none was left.
    package var last: SessionKey?

    package init() {}
}
