import MVI
import WireJSON

/// Sends intents one at a time, in order, until each has an answer.
extension ClientConnection {
    private struct Accepted: Decodable {
        var intent: String?
        var session: String?
        var version: UInt64?
    }

    var intentDeadline: Duration? {
        var times = intents.queue.map(\.deadline) + intents.shownWaits.map(\.intent.deadline)
        if intents.inFlight == nil, let nextTry = intents.nextTry { times.append(nextTry) }
        return times.min()
    }

    // MARK: Enqueuing

    mutating func enqueue(_ intent: PendingIntent) {
        var intent = intent
        intent.deadline = now + settings.patience
        if let error = refusal(of: intent, isFull: intents.queue.count >= settings.queueLimit) {
            return finish(intent, .failure(error))
        }
        intents.queue.append(intent)
    }

    /// Returns the error of an intent that cannot be enqueued; nil if it can.
    func refusal(of intent: PendingIntent, isFull: Bool) -> RemoteError? {
        guard FeatureID.isValid(intent.feature) else { return FeatureID.error(intent.feature) }
        switch session.phase {
        case .ended: return RemoteError(.sessionEnded, "The session has ended; begin a new one.")
        case .signedOut: return RemoteError(.signedOut, "The server requires an identity; sign in first.")
        case .failed(let problem):
            return RemoteError(.refused, "The server refuses a session for this client.", problem: problem)
        default: break
        }
        return isFull ? RemoteError(.queueFull, "\(settings.queueLimit) intents are already waiting.") : nil
    }

    mutating func cancelIntent(_ id: UInt64) {
        // An intent in flight has no caller any more. It stays in the queue to keep the order.
        if let index = intents.queue.firstIndex(where: { $0.id == id }), index > 0 || intents.inFlight == nil {
            intents.queue.remove(at: index)
            if index == 0 { intents.nextTry = nil }
        }
        intents.shownWaits.removeAll { $0.intent.id == id }
    }

    mutating func finish(_ intent: PendingIntent, _ result: Result<IntentReceipt, RemoteError>) {
        commands.append(.finish(intent: intent.id, result))
    }

    mutating func failIntents(_ error: RemoteError) {
        // Intents that are being restored were sent before.
        if !intents.isRestored { intents.restoringError = error }
        failIntents(error) { _ in true }
        endShownWaits { _ in true }
    }

    mutating func failIntents(_ error: RemoteError, where isOver: (PendingIntent) -> Bool) {
        guard let first = intents.queue.first else { return }
        if isOver(first) {
            cutIntent()
            intents.nextTry = nil
        }
        for intent in intents.queue where isOver(intent) {
            var error = error
            error.mayHaveRun = intent.mayHaveRun
            finish(intent, .failure(error))
        }
        intents.queue.removeAll(where: isOver)
    }

    // MARK: Replacement of the session

    /// Marks the waiting intents, which belong to a session that will be replaced.
    mutating func markFormerIntents() {
        intents.formerOwner = presentOwner
        for index in intents.queue.indices { intents.queue[index].isOfFormerSession = true }
    }

    /// Keeps the marked intents for the new session.
    mutating func keepFormerIntents() {
        for index in intents.queue.indices { intents.queue[index].isOfFormerSession = false }
    }

    /// Fails the marked intents.
    mutating func failFormerIntents(_ error: RemoteError) { failIntents(error) { $0.isOfFormerSession } }

    /// Cancels the request in flight. The intent stays in the queue.
    private mutating func cutIntent() {
        guard let id = intents.inFlight else { return }
        intents.inFlight = nil
        intents.queue[0].mayHaveRun = true
        if exchanges.removeValue(forKey: id) != nil { commands.append(.cut(id)) }
    }

    mutating func expireIntents() {
        while let index = intents.queue.firstIndex(where: { $0.deadline <= now }) {
            if index == 0 {
                cutIntent()
                intents.nextTry = nil
            }
            let intent = intents.queue.remove(at: index)
            finish(
                intent,
                .failure(
                    RemoteError(
                        .gaveUp, "The server did not answer the intent within \(settings.patience).",
                        mayHaveRun: intent.mayHaveRun)))
        }
        endShownWaits { [now] in $0.intent.deadline <= now }
    }

    // MARK: Sending

    mutating func advanceIntents() {
        guard isOnline, session.isUsable, intents.isRestored, intents.inFlight == nil, let intent = intents.queue.first
        else { return }
        if let nextTry = intents.nextTry {
            guard nextTry <= now else { return }
            intents.nextTry = nil
        }
        let feature = "/features/\(Self.escaped(intent.feature))"
        guard let body = intent.body else {
            let fields = session.id.map { [HTTPField("MVI-Session", $0)] } ?? []
            intents.inFlight = start(.intent, request("DELETE", "\(feature)/state", fields))
            return
        }
        // A quoted string (RFC 9651 section 3.3.3).
        var fields = [HTTPField("Idempotency-Key", "\"\(intent.key)\""), HTTPField("Accept", "application/json")]
        // The server refuses a restored intent if the session is another one.
        if let id = session.id ?? intent.owner?.session { fields.append(HTTPField("MVI-Session", id)) }
        tell(.sent, of: intent)
        intents.inFlight = start(.intent, request("POST", "\(feature)/intents", fields, body: body))
    }

    mutating func intentAnswered(_ result: Result<HTTPAnswer, TransportFailure>, generation: Int) {
        intents.inFlight = nil
        guard !intents.queue.isEmpty else { return }
        let answer: HTTPAnswer
        switch result {
        case .failure(let failure):
            if failure.mayHaveReached { intents.queue[0].mayHaveRun = true }
            if !intents.queue[0].mayHaveRun { tell(.unsent, of: intents.queue[0]) }
            return tryIntentLater(nil)
        case .success(let whole): answer = whole
        }
        if (200...299).contains(answer.status) {
            guard let receipt = receipt(in: answer, of: intents.queue[0]) else {
                // The answer is not the server's: a captive portal answers 200 to all requests.
                intents.queue[0].mayHaveRun = true
                return tryIntentLater(answer.retryAfter)
            }
            sessionWasTaken()
            return accept(receipt)
        }
        intentRefused(answer, generation: generation)
    }

    private mutating func tell(_ progress: IntentProgress, of intent: PendingIntent) {
        if intent.isPredicted { commands.append(.progress(intent: intent.id, progress)) }
    }

    private func receipt(in answer: HTTPAnswer, of intent: PendingIntent) -> IntentReceipt? {
        if answer.status == 204 { return IntentReceipt(intent: intent.key, session: session.id ?? "", version: 0) }
        guard answer.mediaType == "application/json",
            let accepted = try? WireJSON.decode(Accepted.self, from: answer.body)
        else { return nil }
        return IntentReceipt(
            intent: accepted.intent ?? intent.key, session: accepted.session ?? session.id ?? "",
            version: accepted.version ?? 0)
    }

    private mutating func accept(_ receipt: IntentReceipt) {
        let intent = intents.queue.removeFirst()
        tell(.answered(version: watched.contains(intent.feature) ? receipt.version : nil), of: intent)
        // The server is there.
        stream.retryNow()
        if session.id == nil, !receipt.session.isEmpty { session.id = receipt.session }
        let isShown =
            intent.completion == .committed || !watched.contains(intent.feature)
            || (stream.shown[intent.feature].map { $0.version >= receipt.version } ?? false)
        if isShown {
            finish(intent, .success(receipt))
        } else {
            intents.shownWaits.append(ShownWait(intent: intent, receipt: receipt))
        }
    }

    private mutating func intentRefused(_ answer: HTTPAnswer, generation: Int) {
        let problem = ServerProblem(answer)
        let isOldCredential = generation != session.generation
        switch (answer.status, problem.name) {
        case (401, _) where isOldCredential, (404, "session-not-found"?) where isOldCredential,
            (404, "session-ended"?) where isOldCredential:
            break
        case (401, "identity-expired"?), (401, "identity-required"?): wantIdentity(isNeeded: true)
        case (401, _), (404, "session-not-found"?):
            if deferToSignIn() { return }
            intents.queue[0].renewals += 1
            guard intents.queue[0].renewals <= 3 else { return refuse(problem) }
            forgetSession()
        case (404, "session-ended"?):
            if deferToSignIn() { return }
            refuse(problem)
            endSession()
        case (409, "other-session"?) where !isOldCredential:
            if let owner = intents.queue[0].owner { return failIntents(of: [owner]) }
            refuse(problem)
            leaveSession()
        // The feature's own refusals: the app decides.
        case (429, "intent-limited"?), (503, "check-timeout"?): refuse(problem)
        case (429, _):
            if !intents.queue[0].mayHaveRun { tell(.unsent, of: intents.queue[0]) }
            tryIntentLater(answer.retryAfter)
        case (408, _), (409, "intent-in-progress"?), (502, _), (503, _), (504, _), (507, "storage-full"?):
            intents.queue[0].mayHaveRun = true
            tryIntentLater(answer.retryAfter)
        default: refuse(problem)
        }
    }

    private mutating func refuse(_ problem: ServerProblem) {
        let intent = intents.queue.removeFirst()
        let text = problem.detail ?? problem.title ?? "The server refused the intent with status \(problem.status)."
        finish(intent, .failure(RemoteError(.refused, text, problem: problem)))
    }

    private mutating func tryIntentLater(_ asked: Duration?) {
        intents.isAskedTo = asked.map { $0 > .zero } ?? false
        intents.nextTry = now + retryTime(asked, attempts: intents.queue[0].attempts)
        intents.queue[0].attempts += 1
    }

    // MARK: Waiting for states

    /// Ends the waits of committed intents that fulfill `isOver`.
    mutating func endShownWaits(_ isOver: (ShownWait) -> Bool) {
        for wait in intents.shownWaits where isOver(wait) { finish(wait.intent, .success(wait.receipt)) }
        intents.shownWaits.removeAll(where: isOver)
    }
}
