import MVI

/// States that wait for the first results of observations.
extension StreamTable {
    /// Holds a state that streams have yet to show back until `release`.
    mutating func hold(_ feature: FeatureID) { for index in all.indices { all[index].hold(feature) } }

    /// Shows a state that streams held back. Those that show it as stale are noted.
    ///
    /// - Parameter number: a stream's number; nil for all that held it back.
    mutating func release(_ feature: FeatureID, of number: UInt64? = nil, isStale: Bool) {
        for index in all.indices where number.map({ $0 == all[index].number }) ?? true {
            all[index].release(feature, isStale: isStale)
        }
    }

    /// Has streams that show a state as stale show it again.
    mutating func showFresh(_ feature: FeatureID, since: UInt64) {
        lastStep = nil
        for index in all.indices where all[index].rare?.stale.contains(feature) == true {
            all[index].rare?.stale.removeAll { $0 == feature }
            all[index].forgetSeen(feature)
            all[index].markDirty(feature, since: since)
            all[index].hasNews = true
        }
    }
}

extension StreamState {
    /// Holds a state that it has yet to show back until `release`.
    mutating func hold(_ feature: FeatureID) {
        guard let index = dirty.firstIndex(where: { $0.feature == feature }) else { return }
        makeRare().awaited.append(dirty[index])
        dirty.removeAll { $0.feature == feature }
    }

    /// Shows a state that was held back.
    mutating func release(_ feature: FeatureID, isStale: Bool) {
        guard let held = rare?.awaited.first(where: { $0.feature == feature }) else { return }
        rare?.awaited.removeAll { $0.feature == feature }
        dirty.append(held)
        if isStale, rare?.stale.contains(feature) == false { rare?.stale.append(feature) }
        hasNews = true
    }
}

extension Session {
    /// Notes that a stream watches a store that was created after it. If the stream was closed meanwhile, work that
    /// began is ended.
    func watch(_ store: SessionStore, from stream: UInt64) {
        store.beginWatching()
        let isOpen = core.withLock { core in
            guard core.stores[store.feature]?.store === store else { return false }
            return core.streams.watches(stream, store)
        }
        if !isOpen { store.endWatching() }
    }
}
