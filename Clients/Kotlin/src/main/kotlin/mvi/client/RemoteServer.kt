package mvi.client

import java.util.concurrent.atomic.AtomicBoolean
import kotlin.random.Random
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import mvi.client.connection.Input
import mvi.client.core.ClientCore
import mvi.client.core.PendingKeeper

/**
 * The client of a server: one session, and one stream for all watched stores.
 *
 * An app creates one and keeps it until [close]. The session is created with the first watched store or sent intent,
 * and survives restarts of the app if the options have a storage for its credential. All functions can be called from
 * any thread; none blocks.
 *
 * @param url the server's URL; paths are appended to its path.
 */
class RemoteServer(url: String, internal val options: RemoteServerOptions = RemoteServerOptions()) : AutoCloseable {
    internal val core = ClientCore(
        options.settings(), options.transport ?: OkHttpTransport(url), options.elapsed, options.credentials,
        options.identity, { Random.nextDouble() }, options.report,
        options.pendingStorage?.let { PendingKeeper(it, "mvi-client:${url.trimEnd('/')} pending", options.report) },
        options.onAbandoned,
    )
    private val shownCondition = MutableStateFlow<Condition>(Condition.Idle)
    private val network: Job?

    /** The condition of the connection. */
    val condition: StateFlow<Condition> = shownCondition.asStateFlow()

    /**
     * The intents that wait for their answers, of all stores, in the order of the calls: those that a user would lose
     * with the process. A canceled one that is being sent is among them until its answer.
     */
    val pending: StateFlow<List<WaitingIntent>> = core.waitingIntents

    private val isOutdated = AtomicBoolean()

    init {
        core.listen { shownCondition.value = it }
        network = options.network?.let { network ->
            core.launch { network.availability().collect { core.handle(Input.Online(it)) } }
        }
    }

    /**
     * Notes that the app is in the foreground: pending attempts are made at once, and an idle connection is reopened,
     * also if [RemoteServerOptions.network] says that there is no network. Call it when the app's process or activity
     * starts, and for a button such as "Try again".
     */
    fun foreground() = core.handle(Input.Foreground)

    /**
     * Notes that a user signed in. The options' `identity` is called, and its result is sent to the server. Call it at
     * each sign-in, and at the app's start if a user is already signed in; before that, sessions are anonymous.
     *
     * @param keepsStores true if the user takes over the stores of an anonymous session. If false, the server disposes
     *     of them, waiting intents fail with [RemoteError.Code.SESSION_ENDED], and later ones wait for the sign-in.
     */
    fun signIn(keepsStores: Boolean = true) = core.handle(Input.SignIn(keepsStores))

    /**
     * Ends the session, if there is one. Watched stores continue in a new one.
     *
     * Use it to sign out, after `identity` has begun to return null, and to begin again after [Condition.Ended].
     * Intents without an answer fail with [RemoteError.Code.SESSION_ENDED]; later ones wait for the new session.
     * Without a network, the session stays on the server until it expires.
     */
    fun renewSession() = core.handle(Input.RenewSession)

    /** Tells the app, once, that it is older than the server. */
    internal fun noteOutdated(error: RemoteError) {
        if (!isOutdated.compareAndSet(false, true)) return
        try {
            options.onOutdated(error)
        } catch (failure: Exception) {
            options.report("A callback failed: $failure")
        }
    }

    /** Closes the client; the session stays on the server. Flows of labels end, and new intents fail. */
    override fun close() {
        network?.cancel()
        core.close()
    }
}
