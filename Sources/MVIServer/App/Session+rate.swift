import MVI
import Sessions

extension Caller {
    /// Returns true if a request for a feature's instance asks the maker of its key: the session has no store of it.
    func makes(_ feature: FeatureID) -> Bool { feature.key != nil && !session.hasStore(feature) }

    /// Counts a request that commits something, an intent or the disposal of a store, whatever becomes of it; refuses one that
    /// comes too soon. One that another node sends on was counted there.
    func checkRate(_ incoming: Incoming) throws(Problem) {
        guard incoming.sender != .node, let rate = session.intentRate, let wait = session.takeIntent(rate, credential)
        else { return }
        throw Problem("intents", rate, wait, "The session sends intents faster than \(rate.perSecond) a second.")
    }
}
