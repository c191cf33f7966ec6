import DequeModule
import MVI

/// Intents that survive the end of the app.
extension ClientConnection {
    // MARK: Restoring

    /// Enqueues the intents of an earlier run of the app, before those of this one.
    ///
    /// - Parameters:
    ///   - kept: the intents; nil if the storage cannot be read, so that nothing is saved in this run.
    ///   - wallTime: the time since 1970.
    mutating func restore(_ kept: [PendingIntent]?, wallTime: Duration) {
        guard !intents.isRestored else { return }
        intents.isRestored = true
        intents.isSaving = kept != nil
        var accepted: [PendingIntent] = []
        for var intent in kept ?? [] {
            commands.append(.resume(intent: intent.id))
            // A clock that was set back must not prolong its life.
            intent.deadline = now + min(intent.until - wallTime, settings.patience)
            let isFull = accepted.count >= settings.queueLimit
            if let error = intents.restoringError ?? refusal(of: intent, isFull: isFull) {
                finish(intent, .failure(error, mayHaveRun: intent.mayHaveRun))
            } else {
                accepted.append(intent)
            }
        }
        intents.queue.prepend(contentsOf: accepted)
        intents.saved = accepted.compactMap { intent in
            intent.owner.flatMap { Self.kept(intent, owner: $0, isInFlight: false) }
        }
        if accepted.count != kept?.count { intents.saved = nil }
    }

    /// Assigns restored intents to the session as soon as it is known whether they belong to it. Those of another session
    /// fail.
    mutating func resolveOwners() {
        guard intents.isRestored, session.isRead else { return }
        var foreign: Set<IntentOwner> = []
        for index in intents.queue.indices {
            guard let owner = intents.queue[index].owner, let isOwner = isOwner(owner) else { continue }
            if isOwner { intents.queue[index].owner = nil } else { foreign.insert(owner) }
        }
        if !foreign.isEmpty { failIntents(of: foreign) }
    }

    /// Fails the restored intents of other sessions.
    mutating func failIntents(of owners: Set<IntentOwner>) {
        failIntents(RemoteError(.sessionEnded, "The intent's session is not the client's any more.")) { intent in
            intent.owner.map { owners.contains($0) } ?? false
        }
    }

    /// True if the session is the owner of an intent; nil if that is unknown.
    private func isOwner(_ owner: IntentOwner) -> Bool? {
        if let id = owner.session {
            if let known = session.id { return known == id }
            return session.token == nil ? false : nil
        }
        guard let group = owner.group else { return true }
        return session.token.map { IntentOwner.group(of: $0) == group } ?? false
    }

    // MARK: Saving

    /// The owner of the intents that are sent now; nil while the credential is unknown: it may be another user's than at
    /// the next start of the app.
    var presentOwner: IntentOwner? {
        guard session.isRead else { return nil }
        if let id = session.id { return IntentOwner(session: id) }
        return IntentOwner(group: session.token.map { IntentOwner.group(of: $0) })
    }

    /// Saves the waiting intents if they have changed.
    mutating func saveIntents() {
        guard intents.isSaving else { return }
        let owner = presentOwner
        guard intents.changes != intents.savedChanges || owner != intents.savedOwner else { return }
        (intents.savedChanges, intents.savedOwner) = (intents.changes, owner)
        let list = intents.queue.enumerated().compactMap { index, intent -> KeptIntent? in
            let former = intent.isOfFormerSession ? intents.formerOwner : owner
            guard let owner = intent.owner ?? former else { return nil }
            return Self.kept(intent, owner: owner, isInFlight: index == 0 && intents.inFlight != nil)
        }
        guard list != intents.saved else { return }
        intents.saved = list
        commands.append(.saveIntents(list))
    }

    private static func kept(_ intent: PendingIntent, owner: IntentOwner, isInFlight: Bool) -> KeptIntent? {
        intent.body.map { body in
            KeptIntent(
                key: intent.key, feature: intent.feature, body: body, owner: owner, until: intent.until,
                mayHaveRun: intent.mayHaveRun || isInFlight)
        }
    }
}

extension Result where Success == IntentReceipt, Failure == RemoteError {
    fileprivate static func failure(_ error: RemoteError, mayHaveRun: Bool) -> Self {
        var error = error
        error.mayHaveRun = mayHaveRun
        return .failure(error)
    }
}
