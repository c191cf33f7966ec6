import MVI
import Sessions

extension Caller {
    /// Returns true if a request calls the maker of a feature's key, because the session has no such store.
    func makes(_ feature: FeatureID) -> Bool { feature.key != nil && !target.hasStore(feature) }

    /// Counts a request that commits something (an intent, a disposal or a change of settings), and refuses it if the rate is exceeded.
    /// Requests that other nodes forward were counted there.
    func checkRate(_ incoming: Incoming) throws(Problem) {
        guard incoming.sender != .node, let rate = session.intentRate, let wait = session.takeIntent(rate, credential)
        else { return }
        throw Problem("intents", rate, wait, "The session sends more than \(rate.perSecond) intents per second.")
    }
}
