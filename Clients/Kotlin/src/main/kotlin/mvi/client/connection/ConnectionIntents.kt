package mvi.client.connection

import kotlin.time.Duration
import mvi.client.HttpAnswer
import mvi.client.HttpField
import mvi.client.IntentReceipt
import mvi.client.RemoteError
import mvi.client.SendCompletion
import mvi.client.ServerProblem
import mvi.client.connection.Connection.Answered
import mvi.client.connection.Connection.Purpose
import mvi.client.wire.Wire
import mvi.client.wire.WireException
import mvi.client.wire.optionalString
import mvi.client.wire.optionalVersion

// Sends intents one at a time, in order, until each has an answer.

internal val Connection.intentDeadline: Duration?
    get() {
        val times = intents.queue.map { it.deadline } + intents.shownWaits.map { it.intent.deadline }
        val nextTry = if (intents.inFlight == null) intents.nextTry else null
        return (times + listOfNotNull(nextTry)).minOrNull()
    }

// Enqueuing

internal fun Connection.enqueue(intent: PendingIntent) {
    intent.deadline = now + settings.patience
    intent.until = wallTime() + settings.patience.inWholeMilliseconds
    val error = sessionError() ?: if (intents.queue.size < settings.queueLimit) {
        null
    } else {
        RemoteError(RemoteError.Code.QUEUE_FULL, "${settings.queueLimit} intents are already waiting.")
    }
    if (error == null) intents.queue += intent else finish(intent, Outcome.Failed(error))
}

/** Returns the error of intents in the present phase of the session; null if they can wait. */
internal fun Connection.sessionError(): RemoteError? = when (val phase = session.phase) {
    SessionPhase.Ended ->
        RemoteError(RemoteError.Code.SESSION_ENDED, "The session has ended; begin a new one.")
    SessionPhase.SignedOut ->
        RemoteError(RemoteError.Code.SIGNED_OUT, "The server requires an identity; sign in first.")
    is SessionPhase.Failed ->
        RemoteError(RemoteError.Code.REFUSED, "The server refuses a session for this client.", phase.problem)
    else -> null
}

internal fun Connection.cancelIntent(id: Long) {
    // An intent in flight has no caller any more. It stays in the queue to keep the order.
    val index = intents.queue.indexOfFirst { it.id == id }
    if (index > 0 || (index == 0 && intents.inFlight == null)) {
        intents.queue.removeAt(index)
        if (index == 0) intents.nextTry = null
    }
    intents.shownWaits.removeAll { it.intent.id == id }
}

internal fun Connection.finish(intent: PendingIntent, outcome: Outcome) {
    commands += Command.Finish(intent.id, outcome)
}

internal fun Connection.failIntents(code: RemoteError.Code, text: String, problem: ServerProblem? = null) {
    failIntents(code, text, problem) { true }
    endShownWaits { true }
}

internal fun Connection.failIntents(
    code: RemoteError.Code,
    text: String,
    problem: ServerProblem?,
    isOver: (PendingIntent) -> Boolean,
) {
    val first = intents.queue.firstOrNull() ?: return
    if (isOver(first)) {
        cutIntent()
        intents.nextTry = null
    }
    for (intent in intents.queue.filter(isOver)) {
        finish(intent, Outcome.Failed(RemoteError(code, text, problem, intent.mayHaveRun)))
    }
    intents.queue.removeAll(isOver)
}

// Replacement of the session

/** Marks the waiting intents, which belong to a session that will be replaced. */
internal fun Connection.markFormerIntents() = intents.queue.forEach { it.isOfFormerSession = true }

/** Keeps the marked intents for the new session. */
internal fun Connection.keepFormerIntents() = intents.queue.forEach { it.isOfFormerSession = false }

/** Fails the marked intents. */
internal fun Connection.failFormerIntents(text: String) =
    failIntents(RemoteError.Code.SESSION_ENDED, text, null) { it.isOfFormerSession }

/** Cancels the request in flight. The intent stays in the queue. */
private fun Connection.cutIntent() {
    val id = intents.inFlight ?: return
    intents.inFlight = null
    intents.queue.first().mayHaveRun = true
    if (exchanges.remove(id) != null) commands += Command.Cut(id)
}

internal fun Connection.expireIntents() {
    while (true) {
        val index = intents.queue.indexOfFirst { it.deadline <= now }
        if (index < 0) break
        if (index == 0) {
            cutIntent()
            intents.nextTry = null
        }
        val intent = intents.queue.removeAt(index)
        val text = "The server did not answer the intent within ${settings.patience}."
        finish(intent, Outcome.Failed(RemoteError(RemoteError.Code.GAVE_UP, text, mayHaveRun = intent.mayHaveRun)))
    }
    endShownWaits { it.intent.deadline <= now }
}

// Sending

internal fun Connection.advanceIntents() {
    if (!isOnline || !session.isUsable || intents.inFlight != null || intents.isRestoring) return
    meetOwners()
    val intent = intents.queue.firstOrNull() ?: return
    intents.nextTry?.let { if (it > now) return }
    intents.nextTry = null
    val feature = "/features/${escaped(intent.feature)}"
    // The server refuses a kept intent if the session is another one.
    val named = (session.id ?: intent.owner?.session)?.let { listOf(HttpField("MVI-Session", it)) }.orEmpty()
    if (intent.body == null) {
        intents.inFlight = start(Purpose.Intent, request("DELETE", "$feature/state", named))
        return
    }
    // A quoted string (RFC 9651 section 3.3.3).
    val fields = listOf(HttpField("Idempotency-Key", "\"${intent.key}\""), HttpField("Accept", "application/json"))
    tell(Progress.Sent, intent)
    intents.inFlight = start(Purpose.Intent, request("POST", "$feature/intents", fields + named, intent.body))
}

internal fun Connection.intentAnswered(result: Answered, generation: Int) {
    intents.inFlight = null
    val intent = intents.queue.firstOrNull() ?: return
    val answer = when (result) {
        is Answered.Failed -> {
            if (result.failure.mayHaveReached) intent.mayHaveRun = true
            if (!intent.mayHaveRun) tell(Progress.Unsent, intent)
            return tryIntentLater(null)
        }
        is Answered.Whole -> result.answer
    }
    if (answer.status !in 200..299) return intentRefused(answer, generation)
    val receipt = receipt(answer, intent)
    if (receipt == null) {
        // The answer is not the server's: a captive portal answers 200 to all requests.
        intent.mayHaveRun = true
        return tryIntentLater(answer.retryAfter)
    }
    sessionWasTaken()
    accept(receipt)
}

private fun Connection.tell(progress: Progress, intent: PendingIntent) {
    if (intent.isPredicted) commands += Command.Tell(intent.id, progress)
}

private fun Connection.receipt(answer: HttpAnswer, intent: PendingIntent): IntentReceipt? {
    if (answer.status == 204) return IntentReceipt(intent.key, session.id.orEmpty(), 0)
    if (answer.mediaType != "application/json") return null
    return try {
        val members = Wire.readObject(answer.text)
        IntentReceipt(
            members.optionalString("intent") ?: intent.key, members.optionalString("session") ?: session.id.orEmpty(),
            members.optionalVersion("version") ?: 0,
        )
    } catch (_: WireException) {
        null
    }
}

private fun Connection.accept(receipt: IntentReceipt) {
    val intent = intents.queue.removeFirst()
    if (session.id == null) session.id = intent.owner?.session
    tell(Progress.Answered(receipt.version.takeIf { intent.feature in watched }), intent)
    // The server is there.
    stream.retryNow()
    if (session.id == null && receipt.session.isNotEmpty()) session.id = receipt.session
    val isShown = intent.completion == SendCompletion.COMMITTED || intent.feature !in watched ||
        stream.shown[intent.feature]?.let { it.version >= receipt.version } ?: false
    if (isShown) finish(intent, Outcome.Committed(receipt)) else intents.shownWaits += ShownWait(intent, receipt)
}

private fun Connection.intentRefused(answer: HttpAnswer, generation: Int) {
    val problem = ServerProblem.of(answer)
    val intent = intents.queue.first()
    val isOldCredential = generation != session.generation
    val status = answer.status
    val name = problem.name
    when {
        isOldCredential && (status == 401 || status == 404 && name in setOf("session-not-found", "session-ended")) -> {}
        status == 401 && (name == "identity-expired" || name == "identity-required") -> wantIdentity(isNeeded = true)
        status == 401 || status == 404 && name == "session-not-found" -> {
            if (deferToSignIn()) return
            intent.renewals += 1
            if (intent.renewals > 3) refuse(problem) else forgetSession()
        }
        status == 404 && name == "session-ended" -> {
            if (deferToSignIn()) return
            refuse(problem)
            endSession()
        }
        status == 409 && name == "other-session" && intent.owner != null -> failForeignIntents(problem)
        status == 409 && name == "other-session" && !isOldCredential -> {
            refuse(problem)
            leaveSession()
        }
        // The feature's own refusals: the app decides.
        status == 429 && name == "intent-limited" || status == 503 && name == "check-timeout" -> refuse(problem)
        status == 429 -> {
            if (!intent.mayHaveRun) tell(Progress.Unsent, intent)
            tryIntentLater(answer.retryAfter)
        }
        status in setOf(408, 502, 503, 504) || status == 409 && name == "intent-in-progress" ||
            status == 507 && name == "storage-full" -> {
            intent.mayHaveRun = true
            tryIntentLater(answer.retryAfter)
        }
        else -> refuse(problem)
    }
}

private fun Connection.refuse(problem: ServerProblem) {
    val intent = intents.queue.removeFirst()
    val text = problem.detail ?: problem.title ?: "The server refused the intent with status ${problem.status}."
    finish(intent, Outcome.Failed(RemoteError(RemoteError.Code.REFUSED, text, problem)))
}

private fun Connection.tryIntentLater(asked: Duration?) {
    val intent = intents.queue.first()
    intents.isAskedTo = asked != null && asked > Duration.ZERO
    intents.nextTry = now + retryTime(asked, intent.attempts)
    intent.attempts += 1
}

// Waiting for states

/** Ends the waits of committed intents that fulfill `isOver`. */
internal fun Connection.endShownWaits(isOver: (ShownWait) -> Boolean) {
    for (wait in intents.shownWaits.filter(isOver)) finish(wait.intent, Outcome.Committed(wait.receipt))
    intents.shownWaits.removeAll(isOver)
}
