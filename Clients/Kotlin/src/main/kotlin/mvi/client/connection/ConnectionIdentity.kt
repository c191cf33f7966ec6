package mvi.client.connection

import kotlin.time.Duration
import mvi.client.RemoteError
import mvi.client.ServerProblem
import mvi.client.connection.Connection.Answered
import mvi.client.connection.Connection.Purpose
import mvi.client.wire.Wire

// Presents the user's identity to the server.

/**
 * Requests an identity, or a newer one, for the server.
 *
 * @param isNeeded true if the client cannot continue without it.
 */
internal fun Connection.wantIdentity(isNeeded: Boolean) {
    val renewal = session.renewal
    if (renewal == null) session.renewal = Renewal(isNeeded) else if (isNeeded) renewal.isNeeded = true
}

/**
 * Starts a sign-in, possibly of another user.
 *
 * @param keepsStores true to keep the stores of an anonymous session.
 */
internal fun Connection.signIn(keepsStores: Boolean) {
    if (!settings.hasIdentity) return
    session.isSignedIn = true
    when (session.phase) {
        SessionPhase.SignedOut -> {
            session.phase = if (session.token == null) SessionPhase.None else SessionPhase.Ready
            if (session.token != null) wantIdentity(isNeeded = true)
        }
        // A session that is created or loaded without the identity receives it afterwards.
        SessionPhase.Ready, SessionPhase.Unread, SessionPhase.Loading, SessionPhase.Making, is SessionPhase.Waiting ->
            wantIdentity(isNeeded = false)
        else -> {}
    }
    if (!keepsStores) disposeAtSignIn()
}

/** Fails waiting intents if the sign-in disposes of stores; later intents wait for the sign-in. */
private fun Connection.disposeAtSignIn() {
    // A request in flight is left unchanged.
    val renewal = session.renewal ?: return
    if (renewal.step == RenewalStep.Putting || !renewal.keepsStores) return
    renewal.keepsStores = false
    markFormerIntents()
}

/**
 * Defers a refusal of the session's credential while a sign-in is unanswered: it may have replaced the credential. The
 * client then sends nothing else before the answer. Returns false if no sign-in is unanswered.
 */
internal fun Connection.deferToSignIn(): Boolean {
    val renewal = session.renewal ?: return false
    if (renewal.identity == null) return false
    renewal.isNeeded = true
    return true
}

internal fun Connection.askIdentity() {
    if (session.isAskingIdentity) return
    session.isAskingIdentity = true
    commands += Command.AskIdentity
}

internal fun Connection.identified(identity: String?) {
    session.isAskingIdentity = false
    val renewal = session.renewal
    if (session.phase == SessionPhase.Asking) {
        // Without a network, the identity is requested again when there is one.
        session.phase = SessionPhase.None
        if (identity == null) return signOut(null)
        if (isOnline) makeSession(identity)
    } else if (session.phase == SessionPhase.Ready && renewal != null && renewal.step == RenewalStep.Asking) {
        if (identity != null) {
            renewal.identity = identity
            putIdentity(identity)
        } else {
            session.renewal = null
            keepFormerIntents()
            // A still valid identity is requested again when it expires.
            if (renewal.isNeeded) signOut(null)
        }
    }
}

internal fun Connection.advanceRenewal() {
    val renewal = session.renewal ?: return
    when (val step = renewal.step) {
        RenewalStep.Wanted -> {
            if (!settings.hasIdentity) {
                session.renewal = null
                if (renewal.isNeeded) signOut(null)
                return
            }
            renewal.step = RenewalStep.Asking
            askIdentity()
        }
        is RenewalStep.Waiting -> if (step.until <= now) renewal.identity?.let { putIdentity(it) }
        RenewalStep.Asking, RenewalStep.Putting -> {}
    }
}

private fun Connection.putIdentity(identity: String) {
    session.renewal?.step = RenewalStep.Putting
    val keep = if (session.renewal?.keepsStores == false) ",\"keep\":false" else ""
    val body = "{\"identity\":${Wire.quoted(identity)}$keep}"
    start(Purpose.PutIdentity, request("PUT", "/sessions/current/identity", body = body))
}

internal fun Connection.identityPut(result: Answered) {
    val renewal = session.renewal ?: return
    if (session.phase != SessionPhase.Ready || renewal.step != RenewalStep.Putting) return
    val answer = (result as? Answered.Whole)?.answer ?: return putIdentityLater(null)
    val problem = ServerProblem.of(answer)
    val status = answer.status
    val name = problem.name
    when {
        status == 200 || status == 204 -> {
            session.renewal = null
            session.isSignedIn = true
            sessionWasTaken()
            val described = Described.of(answer)
            session.id = described?.id ?: session.id
            session.user = described?.user ?: User.Unknown
            // Denied features may be allowed now.
            stream.refused.clear()
            val token = newCredential(answer, described)
            if (token == null || token == session.token) return keepFormerIntents()
            replaceToken(token)
            closeStream()
            failFormerIntents("The sign-in disposed of the intent's store.")
        }
        status == 401 && (name == null || name == "unauthorized") -> forgetSession()
        status == 404 && name == "session-not-found" -> forgetSession()
        status == 404 && name == "session-ended" -> endSession()
        status == 409 && name == "other-identity" -> {
            // Waiting intents do not belong to another user.
            failIntents(RemoteError.Code.SESSION_ENDED, "Another user signed in before the intent was answered.")
            session.madeInARow = 0
            forgetSession()
        }
        status in setOf(400, 401, 403, 413, 422) -> {
            session.renewal = null
            keepFormerIntents()
            commands += Command.Report("The server refuses the identity: $problem.")
            if (renewal.isNeeded) signOut(problem)
        }
        else -> putIdentityLater(answer.retryAfter)
    }
}

private fun Connection.putIdentityLater(asked: Duration?) {
    val renewal = session.renewal ?: return
    renewal.step = RenewalStep.Waiting(now + retryTime(asked, renewal.attempts))
    renewal.attempts += 1
}

/** Enters the signed-out state, since no identity is accepted. The session's credential is kept for [signIn]. */
internal fun Connection.signOut(problem: ServerProblem?) {
    session.phase = SessionPhase.SignedOut
    forgetPresences()
    session.renewal = null
    closeStream()
    failIntents(RemoteError.Code.SIGNED_OUT, "The server requires an identity; sign in again.", problem)
}
