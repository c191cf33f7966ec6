import Sessions

extension Caller {
    /// Counts a request that commits something, an intent or the disposal of a store, whatever becomes of it; refuses one that
    /// comes too soon.
    func checkRate() throws(Problem) {
        guard let rate = session.intentRate, let wait = session.takeIntent(rate, credential) else { return }
        throw Problem("intents", rate, wait, "The session sends intents faster than \(rate.perSecond) a second.")
    }
}
