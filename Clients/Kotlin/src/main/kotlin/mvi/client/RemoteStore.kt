package mvi.client

import java.util.UUID
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.flow.flow
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.serializer
import mvi.client.connection.Outcome
import mvi.client.store.Predictions
import mvi.client.store.StoreFeed
import mvi.client.store.WatchingFlow
import mvi.client.wire.StoreId

/**
 * The client of one feature: shows its states, delivers its labels and sends its intents.
 *
 * The type parameters are the app's view state, intent and label: any serializable types with the same JSON as the
 * server's, such as those that the server prints. The store is watched, which means it is part of the server's stream,
 * while [state], [confirmed] or [labels] is collected. All functions can be called from any thread.
 *
 * @property feature the feature id, with its key for a keyed feature: `order:42`.
 * @property server the server that has the store.
 * @param predict returns the state that the server is expected to make of a state and an intent, so that the intent is
 *     shown before its answer. It is called again for each new state, on any thread, and has no other effect. A
 *     prediction that throws is not shown.
 * @throws IllegalArgumentException if [feature] can be no store's id, such as a key from a link with a slash.
 */
class RemoteStore<State : Any, Intent : Any, Label : Any>(
    val feature: String,
    val server: RemoteServer,
    stateSerializer: KSerializer<State>,
    private val intentSerializer: KSerializer<Intent>,
    labelSerializer: KSerializer<Label>,
    predict: ((State, Intent) -> State)? = null,
) {
    init {
        StoreId.check(feature)
    }

    private val feed = StoreFeed(
        feature, server.core, server.options.json, stateSerializer, intentSerializer, labelSerializer, predict,
        server.options.watchLinger, server.options.report, server::noteOutdated,
    )
    private val shownState = MutableStateFlow<State?>(null)
    private val confirmedState = MutableStateFlow<State?>(null)
    private val pendingIntents = MutableStateFlow<List<PredictedIntent<Intent>>>(emptyList())
    private val shownPresence = MutableStateFlow<StorePresence?>(null)
    private val shownAvailability = MutableStateFlow(Availability.UNKNOWN)
    private val lastFailure = MutableStateFlow<RemoteError?>(null)

    /**
     * The newest view state with the predictions of [pending] intents; null until the first one arrives. It is kept if
     * the connection is lost or the store is no longer watched. The store is watched while this is collected.
     */
    val state: StateFlow<State?> = WatchingFlow(shownState, feed)

    /** The newest view state as the server sent it. The store is watched while this is collected. */
    val confirmed: StateFlow<State?> = WatchingFlow(confirmedState, feed)

    /** The intents that are shown by a prediction and not confirmed, in order, and those that failed. */
    val pending: StateFlow<List<PredictedIntent<Intent>>> = pendingIntents.asStateFlow()

    /**
     * Who looks at the store, if its feature shows clients to each other. It is kept over reconnects; null until the
     * first event, while the store is not watched, and after its end or the session's.
     */
    val presence: StateFlow<StorePresence?> = shownPresence.asStateFlow()

    /** The availability of the store. */
    val availability: StateFlow<Availability> = shownAvailability.asStateFlow()

    /**
     * The error of the last intent of [post]; null if it succeeded. While the store is [Availability.OUTDATED], the
     * reason of that.
     */
    val failure: StateFlow<RemoteError?> = lastFailure.asStateFlow()

    init {
        feed.onChange = ::show
        feed.start()
    }

    private fun show(picture: StoreFeed.Picture<State, Intent>) {
        confirmedState.value = picture.confirmed
        shownState.value = picture.state
        pendingIntents.value = picture.pending.map(::predicted)
        shownPresence.value = picture.presence
        shownAvailability.value = picture.availability
        lastFailure.value = picture.failure
    }

    private fun predicted(entry: Predictions.Entry<Intent>) =
        PredictedIntent(entry.key, entry.intent, entry.status, entry.error, feed::retry, feed::dismiss)

    /**
     * The labels, each once, beginning with up to 1,000 that arrived while nobody collected. Each collector gets all
     * labels that arrive while it collects; what a canceled last collector did not get waits for the next one, for the
     * label's time to live. The store is watched while this is collected. The flow ends when the server is closed.
     */
    val labels: Flow<Label> = flow {
        val reader = feed.labelReader()
        feed.enter()
        try {
            feed.addReader(reader)
            var isOpen = true
            while (isOpen) {
                isOpen = reader.await()
                while (true) {
                    // A label that was taken for a canceled collector would be lost.
                    currentCoroutineContext().ensureActive()
                    emit((reader.take() ?: break).label)
                }
            }
        } finally {
            feed.removeReader(reader)
            feed.leave()
        }
    }

    // Intents

    /**
     * Sends an intent and returns when the server has committed it.
     *
     * Intents of all stores of the server are sent one after the other, in the order of the calls. An intent without
     * an answer is repeated until the options' `patience` ends, and runs once, even if networks or sessions are lost or
     * the server restarts. It never runs in another user's session. If the calling coroutine is canceled, an intent in
     * flight may still run.
     *
     * @param until [SendCompletion.SHOWN] to return only after this store has shown a state that includes the intent.
     * @throws RemoteError if it was refused or given up; with [SendCompletion.SHOWN] also if the state that has it does
     *     not match the app's type, with [RemoteError.Code.OUTDATED]: then it ran.
     */
    suspend fun send(intent: Intent, until: SendCompletion = SendCompletion.COMMITTED): IntentReceipt {
        val body = encoded(intent)
        val key = newKey()
        val progress = feed.predict(intent, body, key)
        try {
            val receipt = server.core.sendAndWait(body, feature, key, until, progress)
            if (until == SendCompletion.SHOWN) feed.settled()
            return receipt
        } catch (error: CancellationException) {
            // Nobody is left to dismiss one that failed.
            feed.dismiss(key)
            throw error
        }
    }

    /**
     * Sends an intent without waiting, for a button. A prediction is shown at once. Intents keep the order of the
     * calls; see [failure] for errors.
     */
    fun post(intent: Intent) {
        val body = try {
            encoded(intent)
        } catch (error: RemoteError) {
            return feed.note(error)
        }
        val key = newKey()
        val progress = feed.predict(intent, body, key)
        server.core.send(body, feature, key, SendCompletion.COMMITTED, progress) { outcome ->
            feed.note((outcome as? Outcome.Failed)?.error)
        }
    }

    /**
     * Disposes of the store on the server, after the intents that were sent before: its state is gone and its work
     * ends. The next use creates a new one. Returns when that is committed, also if there was no store.
     *
     * @throws RemoteError if it was refused or given up.
     */
    suspend fun dispose() {
        server.core.sendAndWait(null, feature, newKey(), SendCompletion.COMMITTED, null)
    }

    private fun encoded(intent: Intent): String = try {
        server.options.json.encodeToString(intentSerializer, intent)
    } catch (error: SerializationException) {
        throw RemoteError(RemoteError.Code.NOT_ENCODABLE, "The intent cannot be written as JSON: ${error.message}")
    }

    private fun newKey(): String = UUID.randomUUID().toString()
}

/**
 * Returns the store of a feature with serializable types. No request is sent.
 *
 * @param predict as for [RemoteStore].
 * @throws IllegalArgumentException if [feature] can be no store's id.
 */
inline fun <reified State : Any, reified Intent : Any, reified Label : Any> RemoteServer.store(
    feature: String,
    noinline predict: ((State, Intent) -> State)? = null,
): RemoteStore<State, Intent, Label> = RemoteStore(feature, this, serializer(), serializer(), serializer(), predict)
