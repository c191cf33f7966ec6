import Sessions

extension Caller {
    /// Counts a request that commits something, an intent or the disposal of a store, whatever becomes of it; refuses one that
    /// comes too soon. One that another node sends on was counted there.
    func checkRate(_ incoming: Incoming) throws(Problem) {
        guard incoming.sender != .node, let rate = session.intentRate, let wait = session.takeIntent(rate, credential)
        else { return }
        throw Problem("intents", rate, wait, "The session sends intents faster than \(rate.perSecond) a second.")
    }
}
