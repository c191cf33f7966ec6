import MVI

/// The checks that run before a turn, outside the queue.
extension IntentJob {
    func begin(_ check: @escaping PendingCheck, on store: SessionStore) -> WaitingJob? {
        session.announceCheck(receipt)
        session.drop(CheckStart(self, check, store))
        return nil
    }

    /// Waits for the running check of an earlier number, if any. After it, the job is enqueued again.
    func hold() -> Bool {
        guard let receipt else { return false }
        let limit = session.shared.limits.runningChecks
        return session.core.withLock { core in
            guard let rare = core.rare, rare.checks?.isHeldUp(receipt) == true,
                rare.checks?.hold(self, receipt, limit: limit) == true
            else { return false }
            core.joinOther(FunctionJob(.intents) { _ in }, isKept: false)
            return true
        }
    }
}
