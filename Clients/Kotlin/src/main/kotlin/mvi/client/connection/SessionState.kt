package mvi.client.connection

import kotlin.time.Duration
import mvi.client.ServerProblem

internal sealed interface SessionPhase {
    /** The storage has not been read. */
    data object Unread : SessionPhase

    /** The storage is being read. */
    data object Loading : SessionPhase

    /** There is no session. */
    data object None : SessionPhase

    /** The identity callback was called, before a session is created. */
    data object Asking : SessionPhase

    data object Making : SessionPhase

    /** The next attempt to read the storage or to create a session comes at this time. */
    data class Waiting(val until: Duration) : SessionPhase

    data object Ready : SessionPhase

    /** The session is being deleted on the server. */
    data object Ending : SessionPhase

    data object SignedOut : SessionPhase
    data object Ended : SessionPhase
    data class Failed(val problem: ServerProblem) : SessionPhase
}

/** The user of a session. */
internal sealed interface User {
    /** The server has not told the user. */
    data object Unknown : User

    data object Anonymous : User
    data class Subject(val subject: String, val issuer: String) : User
}

internal sealed interface RenewalStep {
    data object Wanted : RenewalStep
    data object Asking : RenewalStep
    data object Putting : RenewalStep
    data class Waiting(val until: Duration) : RenewalStep
}

/**
 * An identity that will be presented to the server.
 *
 * @property isNeeded true if the server refuses other requests before it.
 */
internal class Renewal(var isNeeded: Boolean) {
    var step: RenewalStep = RenewalStep.Wanted

    /** True to keep the stores when an anonymous session is signed in. */
    var keepsStores = true
    var identity: String? = null
    var attempts = 0
}

/** The state of the client's session. */
internal class SessionState(var phase: SessionPhase = SessionPhase.Unread) {
    /** True if the storage was read. */
    var isRead = false

    /** True if it is of an earlier start of the app, and the server was not told the settings of this one. */
    var isRestored = false

    /** The token, or the cookie's name and value. */
    var token: String? = null

    /** A number that grows with each new token. */
    var generation = 0

    /** The number of consecutive failed attempts to read the storage or create a session. */
    var attempts = 0

    /** The number of sessions created since the server last accepted one. */
    var madeInARow = 0
    var renewal: Renewal? = null

    /** True if a user is signed in. Further sessions are then created with an identity, never anonymously. */
    var isSignedIn = false

    /** True if the session that is being created has an identity. */
    var isMadeWithIdentity = false

    /** True if the identity callback has not answered yet. */
    var isAskingIdentity = false

    /** The id that the server sent last; null if it has not. */
    var id: String? = null
    var user: User = User.Unknown

    /** True if the server has accepted the credential. */
    var wasTaken = false

    /** The user of the lost session, until there is a new session. */
    var lostUser: User? = null

    /** The id of the lost session, until there is a new session. */
    var lostId: String? = null

    /** The owner of waiting intents, over the end of the app; null if nothing tells it. */
    val owner: IntentOwner?
        get() = when {
            id != null -> IntentOwner(session = id)
            !isRead -> null
            lostUser != null -> lostId?.let { IntentOwner(session = it) }
            else -> IntentOwner(group = token?.let { IntentOwner.group(it) })
        }

    /** The epoch of the last `hello`. */
    var epoch: String? = null

    /** True if requests can be sent with its credential. */
    val isUsable: Boolean
        get() {
            if (phase != SessionPhase.Ready) return false
            val renewal = renewal ?: return true
            // Intents that are sent now would be lost with the stores.
            return !renewal.isNeeded && renewal.step != RenewalStep.Putting && renewal.keepsStores
        }

    /** True if the session needs the app's help to continue. */
    val isOver: Boolean
        get() = phase == SessionPhase.Ended || phase == SessionPhase.SignedOut || phase is SessionPhase.Failed

    val deadline: Duration?
        get() = (phase as? SessionPhase.Waiting)?.until ?: (renewal?.step as? RenewalStep.Waiting)?.until

    fun retryNow(now: Duration) {
        if (phase is SessionPhase.Waiting) phase = SessionPhase.Waiting(now)
        renewal?.let { if (it.step is RenewalStep.Waiting) it.step = RenewalStep.Waiting(now) }
    }
}
