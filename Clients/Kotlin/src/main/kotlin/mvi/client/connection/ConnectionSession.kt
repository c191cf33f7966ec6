package mvi.client.connection

import kotlin.time.Duration
import kotlinx.serialization.json.JsonObject
import mvi.client.HttpAnswer
import mvi.client.RemoteError
import mvi.client.ServerProblem
import mvi.client.connection.Connection.Answered
import mvi.client.connection.Connection.Purpose
import mvi.client.wire.Wire
import mvi.client.wire.WireException
import mvi.client.wire.optionalString
import mvi.client.wire.string

// Creates, keeps and ends the session.

/** The description of the session in an answer. */
internal class Described(val id: String?, val token: String?, val user: User?) {
    companion object {
        /** Reads an answer; null if it is none of the server's. */
        fun of(answer: HttpAnswer): Described? = try {
            val members = Wire.readObject(answer.text)
            val identity = members["identity"] as? JsonObject
            val user = identity?.let { User.Subject(it.string("subject"), it.string("issuer")) }
            Described(members.optionalString("id"), members.optionalString("token"), user)
        } catch (_: WireException) {
            null
        }
    }
}

/** Takes the next step towards a session if one is needed. */
internal fun Connection.advanceSession() {
    // The storage can be read without a network.
    if (!isOnline && session.isRead) return
    val waiting = session.phase as? SessionPhase.Waiting
    if (waiting != null && waiting.until <= now) {
        session.phase = if (session.isRead) SessionPhase.None else SessionPhase.Unread
    }
    val isNeeded = intents.queue.isNotEmpty() || streamFeatures.isNotEmpty()
    when (session.phase) {
        SessionPhase.Unread -> if (isNeeded) {
            session.phase = SessionPhase.Loading
            commands += Command.LoadCredential
        }
        SessionPhase.None -> if (isNeeded) {
            if (session.isSignedIn) {
                session.phase = SessionPhase.Asking
                askIdentity()
            } else {
                makeSession(null)
            }
        }
        SessionPhase.Ready -> {
            if (session.isRestored && isOnline) putSettings()
            advanceRenewal()
        }
        else -> {}
    }
}

internal fun Connection.loaded(token: String?) {
    if (session.phase != SessionPhase.Loading) return
    session.isRead = true
    session.attempts = 0
    session.token = token
    session.user = if (settings.hasIdentity) User.Unknown else User.Anonymous
    session.phase = if (token == null) SessionPhase.None else SessionPhase.Ready
    session.isRestored = token != null
}

/** Tells the server the settings of this start of the app, once for a session of an earlier one. */
private fun Connection.putSettings() {
    session.isRestored = false
    val members = settingsMembers()
    if (members.isEmpty()) return
    start(Purpose.PutSettings, request("PUT", "/sessions/current", body = members.joinToString(",", "{", "}")))
}

private fun Connection.settingsMembers(): List<String> =
    listOf("locale" to settings.locale, "timeZone" to settings.timeZone)
        .mapNotNull { (name, value) -> value?.let { "\"$name\":${Wire.quoted(it)}" } }

internal fun Connection.notLoaded() {
    if (session.phase != SessionPhase.Loading) return
    commands += Command.Report("The credential storage cannot be read; this is retried later.")
    waitForSession(null)
}

internal fun Connection.makeSession(identity: String?) {
    session.phase = SessionPhase.Making
    session.token = null
    session.isMadeWithIdentity = identity != null
    val form = if (settings.usesCookie) "cookie" else "bearer"
    val members = listOf("\"credential\":\"$form\"") +
        listOfNotNull(identity?.let { "\"identity\":${Wire.quoted(it)}" }) + settingsMembers()
    start(Purpose.MakeSession, request("POST", "/sessions", body = members.joinToString(",", "{", "}")))
}

internal fun Connection.sessionMade(result: Answered) {
    if (session.phase != SessionPhase.Making) return
    val answer = (result as? Answered.Whole)?.answer ?: return waitForSession(null)
    when (answer.status) {
        200, 201 -> {
            val described = Described.of(answer)
            val token = newCredential(answer, described) ?: return waitForSession(null)
            session.phase = SessionPhase.Ready
            session.attempts = 0
            session.madeInARow += 1
            if (session.isMadeWithIdentity) session.renewal = null
            replaceToken(token)
            session.id = described?.id
            session.wasTaken = true
            session.user = described?.user ?: if (session.isMadeWithIdentity) User.Unknown else User.Anonymous
            session.lostUser?.let { replaceLostSession(it) }
        }
        401 -> if (settings.hasIdentity && !session.isMadeWithIdentity) {
            session.isSignedIn = true
            session.phase = SessionPhase.None
        } else {
            signOut(ServerProblem.of(answer))
        }
        400, 403, 404, 413, 415, 422 -> {
            if (answer.mediaType != "application/problem+json") return waitForSession(answer.retryAfter)
            val problem = ServerProblem.of(answer)
            session.phase = SessionPhase.Failed(problem)
            failIntents(RemoteError.Code.REFUSED, "The server refuses a session for this client.", problem)
        }
        else -> waitForSession(answer.retryAfter)
    }
}

/** Replaces a lost session with a new one. Waiting intents are kept if the user is the same. */
private fun Connection.replaceLostSession(user: User) {
    session.lostUser = null
    session.lostId = null
    if (user != User.Unknown && user == session.user) {
        keepFormerIntents()
    } else {
        failFormerIntents("The intent's session was lost, and the next may belong to another user.")
    }
}

/** Returns the token or the cookie of an answer. */
internal fun Connection.newCredential(answer: HttpAnswer, described: Described?): String? {
    if (!settings.usesCookie) return described?.token
    val pair = answer.fields["set-cookie"]?.substringBefore(';') ?: return null
    return pair.takeIf { '=' in it && !it.endsWith('=') }
}

internal fun Connection.replaceToken(token: String) {
    session.token = token
    session.generation += 1
    commands += Command.SaveCredential(token)
}

private fun Connection.waitForSession(asked: Duration?) {
    session.phase = SessionPhase.Waiting(now + retryTime(asked, session.attempts))
    session.attempts += 1
}

/** The delay before the next attempt of a request other than a stream. */
internal fun Connection.retryTime(asked: Duration?, attempts: Int): Duration =
    if (asked != null && asked > Duration.ZERO) pace.asked(asked) else pace.delay(settings.retryBase, attempts)

/**
 * Forgets a session that the server does not know. The first new session is requested at once; if the server does not
 * know that one either, the delays grow.
 */
internal fun Connection.forgetSession() {
    // Nothing was shown of a stored session that the server does not know.
    if (session.wasTaken) {
        if (session.lostUser == null) {
            session.lostUser = session.user
            session.lostId = session.id
        }
        session.wasTaken = false
        markFormerIntents()
    }
    session.generation += 1
    session.token = null
    session.renewal = null
    session.user = User.Unknown
    session.phase = SessionPhase.None
    if (session.madeInARow > 1) {
        session.attempts = session.madeInARow - 2
        waitForSession(null)
    }
    forgetLog()
    stream.refused.clear()
    closeStream()
}

/** Notes that the server has accepted the session's credential. */
internal fun Connection.sessionWasTaken() {
    session.madeInARow = 0
    session.wasTaken = true
}

/** Leaves the session, since the credential belongs to another one. The next stream tells its id. */
internal fun Connection.leaveSession() {
    failIntentsOfOtherSession()
    forgetLog()
    closeStream()
}

internal fun Connection.failIntentsOfOtherSession() {
    session.user = User.Unknown
    failIntents(RemoteError.Code.SESSION_ENDED, "The intent's session no longer belongs to this client.")
}

/** Ends the session for good. The app decides how to continue. */
internal fun Connection.endSession() {
    session.phase = SessionPhase.Ended
    forgetPresences()
    session.token = null
    session.renewal = null
    commands += Command.SaveCredential(null)
    closeStream()
    failIntents(RemoteError.Code.SESSION_ENDED, "The session was ended before the intent was answered.")
}

/**
 * Ends the session at the app's request. The next one is created when it is needed. Waiting intents belong to the old
 * session and fail.
 */
internal fun Connection.renewSession() {
    failIntents(RemoteError.Code.SESSION_ENDED, "The app ended the session before the intent was answered.")
    cutExchanges()
    closeStream()
    val farewell = if (session.token == null || !isOnline) null else request("DELETE", "/sessions/current")
    commands += Command.SaveCredential(null)
    val former = session
    session = SessionState(if (farewell == null) SessionPhase.None else SessionPhase.Ending).apply {
        isRead = true
        generation = former.generation + 1
        isAskingIdentity = former.isAskingIdentity
    }
    forgetLog()
    stream.phase = StreamPhase.Closed
    stream.refused.clear()
    farewell?.let { start(Purpose.EndSession, it) }
}

internal fun Connection.sessionDeleted(result: Answered) {
    if (session.phase != SessionPhase.Ending) return
    session.phase = SessionPhase.None
    if (result is Answered.Whole && result.answer.status in setOf(200, 204, 401, 404)) return
    commands += Command.Report("The session could not be deleted on the server; it ends when it expires.")
}
