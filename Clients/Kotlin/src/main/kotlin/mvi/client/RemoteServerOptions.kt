package mvi.client

import java.time.ZoneId
import java.util.Locale
import kotlin.time.Duration
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.json.Json
import mvi.client.connection.ConnectionSettings

/** The options of a [RemoteServer]. */
class RemoteServerOptions(
    /** The storage for the session's credential. By default in memory, so that each start of the app begins anew. */
    val credentials: CredentialStorage = MemoryCredentialStorage(),
    /**
     * Returns the proof of the user's identity, such as a JWT that is still valid for a while; null if no user is
     * signed in.
     *
     * Called after [RemoteServer.signIn], before the known identity expires, when the server requires one, and for each
     * further session of a signed-in user; never concurrently. An exception counts as null. Without this callback,
     * sessions are anonymous.
     */
    val identity: (suspend () -> String?)? = null,
    /** The format in which the server may send changes instead of whole states; null for whole states. */
    val delta: DeltaFormat? = null,
    /** The language tag (BCP 47) that the server gets: the user's; null for none. */
    val locale: String? = Locale.getDefault().toLanguageTag(),
    /** The IANA time zone that the server gets: the user's; null for none. */
    val timeZone: String? = ZoneId.systemDefault().id,
    /** The time after which `send` gives up an intent. */
    val patience: Duration = 5.minutes,
    /** The maximum number of intents that wait for their answers; more are refused. */
    val maximumWaitingIntents: Int = 1_000,
    /**
     * Keeps the intents that wait for their answers, so that they survive the end of the app; null if they end with it.
     *
     * The next [RemoteServer] with this storage and URL sends them first, in order and with their keys, if it has the
     * same session and their patience is not over by the wall clock. So [credentials] must be kept, too.
     */
    val pendingStorage: PendingStorage? = null,
    /** Called when an intent that [pendingStorage] kept has failed, from any thread. */
    val onAbandoned: (WaitingIntent, RemoteError) -> Unit = { _, _ -> },
    /**
     * Called once, from any thread, with the first state that does not match the app's type: the app is older than the
     * server. Its store is [Availability.OUTDATED].
     */
    val onOutdated: (RemoteError) -> Unit = {},
    /** The source of the network's availability; null if it is assumed, so that attempts fail without it. */
    val network: Network? = null,
    /** The time for which a store is still watched after its last collector, such as that of a rotated screen. */
    val watchLinger: Duration = 5.seconds,
    /** The format of states, intents and labels. Each format for this server must ignore unknown keys. */
    val json: Json = Json {
        ignoreUnknownKeys = true
        explicitNulls = false
    },
    /**
     * Returns the time since a fixed point. On Android use `SystemClock.elapsedRealtimeNanos()`, which continues while
     * the device sleeps.
     */
    val elapsed: () -> Duration = { System.nanoTime().nanoseconds },
    /** The requests' transport; null for [OkHttpTransport] with its own client. */
    val transport: Transport? = null,
    /**
     * Called with log messages for the app's author, such as events that cannot be read, from any thread. They contain
     * no states, intents or credentials.
     */
    val report: (String) -> Unit = {},
) {
    internal fun settings() = ConnectionSettings(
        delta = delta, locale = locale, timeZone = timeZone, hasIdentity = identity != null, patience = patience, queueLimit = maximumWaitingIntents,
        keepsIntents = pendingStorage != null,
    )
}
