import MVI
import SessionJournal

/// Answers that are not the turn's own.
extension IntentJob {
    /// The outcome with the state as the client's audience sees it.
    func seen(_ outcome: IntentOutcome) -> IntentOutcome {
        if outside != nil { return outcome }
        session.owe(outcome.version, of: feature, to: request.client)
        var outcome = outcome
        if request.wantsState {
            outcome.state = session.existingState(of: feature, for: request.client)
            // The store is gone, or the view cannot be shown.
            outcome.isWithheld = outcome.state == nil
        }
        return outcome
    }

    /// Answers a repeated request from its receipt.
    func replay(_ receipt: StoredReceipt) {
        session.shared.metrics.of(feature.name)?.count(.repeated)
        let id = IntentID(receipt.intent)
        switch receipt.outcome {
        case .refused(let status, let body):
            completion(.success(IntentOutcome(id: id, refusal: RecordedRefusal(status: status, body: body))))
        case .ran(let version):
            var outcome = IntentOutcome(id: id, version: version, isSettled: outside != nil)
            outcome.isReplayed = true
            if outside != nil { return completion(.success(outcome)) }
            session.state(of: feature, for: request.client) { [self, outcome] result in
                switch result {
                case .failure(let error): completion(.failure(error))
                case .success(let present):
                    var outcome = outcome
                    if present.audience != nil { session.owe(version, of: feature, to: request.client) }
                    outcome.state = present
                    if request.wait == nil { completion(.success(outcome)) } else { answer(outcome) }
                }
            }
        }
    }
}
