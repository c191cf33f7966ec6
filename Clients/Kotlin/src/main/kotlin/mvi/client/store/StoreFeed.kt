package mvi.client.store

import kotlin.time.Duration
import kotlinx.coroutines.CompletableDeferred
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import mvi.client.Availability
import mvi.client.RemoteError
import mvi.client.SendCompletion
import mvi.client.StorePresence
import mvi.client.connection.Delivery
import mvi.client.connection.Progress
import mvi.client.core.ClientCore
import mvi.client.core.KeptIntents
import mvi.client.wire.Wire
import mvi.client.wire.WireException

/**
 * Passes the deliveries of one store to its readers. Each one is decoded once.
 *
 * Deliveries come one at a time; intents and readers come on any thread. Changes and what follows from them are
 * performed by one thread at a time, in order, without the lock.
 *
 * @property linger the time for which the store is still watched after its last reader.
 */
internal class StoreFeed<State : Any, Intent, Label>(
    private val feature: String,
    private val core: ClientCore,
    private val json: Json,
    private val stateSerializer: KSerializer<State>,
    private val intentSerializer: KSerializer<Intent>,
    private val labelSerializer: KSerializer<Label>,
    private val prediction: ((State, Intent) -> State)?,
    private val linger: Duration,
    private val report: (String) -> Unit,
    private val outdates: (RemoteError) -> Unit,
) : KeptIntents.Reader {
    /** The values that a view shows. */
    class Picture<State, Intent>(
        val state: State?,
        val confirmed: State?,
        val pending: List<Predictions.Entry<Intent>>,
        val presence: StorePresence?,
        val availability: Availability,
        /** The error of the store, or else of the last intent of `post`. */
        val failure: RemoteError?,
    )

    private val lock = Any()

    // Protected by the lock.
    private val changes = ArrayDeque<() -> Unit>()
    private var isChanging = false

    // Used by changes.
    private val number = core.number()
    private val book = Predictions<State, Intent, DatedLabel<Label>>(prediction)
    private val labels = LabelQueue<Label>(core::now)
    private var presence: StorePresence? = null
    private var availability = Availability.UNKNOWN
    private var failure: RemoteError? = null

    /** The error of the last state, if it does not match the app's type. */
    private var outdated: RemoteError? = null
    private var readers = 0

    /** Those who wait for the end of a hold. */
    private val settled = mutableListOf<CompletableDeferred<Unit>>()

    /** The number of times that the last reader left. */
    private var departures = 0

    /** True if the core watches the store. */
    private var isWatched = false

    /** Receives each new picture, in order. Set once, before the first change. */
    var onChange: (Picture<State, Intent>) -> Unit = {}

    /** Begins to show intents that an earlier run of the app has kept. */
    fun start() {
        if (prediction != null) core.read(feature, this)
    }

    // Readers

    /** Adds a reader of states or labels. The store is watched while there is one. */
    fun enter() = change {
        readers += 1
        if (!isWatched) {
            isWatched = true
            core.watch(feature, number, ClientCore.Sink(::receive, ::finish))
        }
    }

    fun leave() = change {
        readers -= 1
        if (readers == 0) {
            departures += 1
            val departure = departures
            if (linger > Duration.ZERO) core.after(linger) { change { rest(departure) } } else rest(departure)
        }
    }

    /** Ends the watch, unless there was a reader since that departure. */
    private fun rest(departure: Int) {
        if (readers > 0 || !isWatched || departure != departures) return
        isWatched = false
        core.unwatch(feature, number)
        presence = null
        book.unwatched()
    }

    fun labelReader() = LabelReader<Label>(core::now)

    /** Adds a reader of labels, which receives those that arrived while there was none, and later ones. */
    fun addReader(reader: LabelReader<Label>) = change {
        labels.add(reader)
        // One that comes after the end would wait for ever.
        if (core.isClosed) reader.finish()
    }

    /** Removes a reader. If it was the last one, its labels wait for the next. */
    fun removeReader(reader: LabelReader<Label>) = change { labels.remove(reader) }

    private fun finish() = change { labels.readers.forEach { it.finish() } }

    // Deliveries

    private fun receive(delivery: Delivery) {
        when (delivery) {
            is Delivery.State -> {
                val state = decoded(stateSerializer, delivery.state, "state") ?: return change { outdate() }
                change {
                    outdated = null
                    availability = Availability.SHOWN
                    book.show(state.value, delivery.version, delivery.intent)
                }
            }
            is Delivery.Label -> {
                val label = decoded(labelSerializer, delivery.label, "label") ?: return
                change { book.deliver(DatedLabel(label.value, delivery.end)) }
            }
            // It may come behind the end of the watch.
            is Delivery.Presence -> change { if (isWatched) presence = delivery.presence?.by(json) }
            Delivery.Ended -> end(Availability.ENDED)
            Delivery.Denied -> end(Availability.DENIED)
            Delivery.Missing -> end(Availability.MISSING)
            Delivery.Forgotten -> change { book.reset(forgetsVersion = true) }
            is Delivery.Reset -> change {
                book.reset()
                if (delivery.labelsLost) report("Labels of \"$feature\" may be lost: ${delivery.reason}.")
            }
        }
    }

    private class Decoded<Value>(val value: Value)

    private fun <Value> decoded(serializer: KSerializer<Value>, element: JsonElement, what: String): Decoded<Value>? =
        try {
            Decoded(json.decodeFromJsonElement(serializer, element))
        } catch (error: IllegalArgumentException) {
            // The serializer's own exceptions, and those of a class that checks its values.
            report("A $what of \"$feature\" does not match the app's type: ${error.javaClass.simpleName}")
            null
        }

    /** Keeps the last state that could be read, without predictions: no state confirms them. */
    private fun outdate() {
        val text = "The state of \"$feature\" does not match the app's type: the app is older than the server."
        val error = RemoteError(RemoteError.Code.OUTDATED, text)
        outdated = error
        availability = Availability.OUTDATED
        book.end()
        outdates(error)
    }

    private fun end(availability: Availability) = change {
        outdated = null
        this.availability = availability
        book.end()
    }

    // Intents

    /** Shows an intent before it is sent. Returns the callback for its progress; null if nothing is predicted. */
    fun predict(intent: Intent, body: String, key: String): ((Progress) -> Unit)? {
        if (prediction == null) return null
        change { book.add(intent, body, key) }
        return progress(key)
    }

    private fun progress(key: String): (Progress) -> Unit = { note(it, key) }

    override fun note(progress: Progress, key: String) = change { book.note(progress, key) }

    override fun resume(intents: List<KeptIntents.Resumed>) {
        val known = intents.mapNotNull { each ->
            // Another program's text is not predicted.
            val body = try { Wire.read(each.body) } catch (_: WireException) { return@mapNotNull null }
            decoded(intentSerializer, body, "kept intent")?.let {
                Predictions.Entry(each.key, it.value, each.body, isLost = each.mayHaveRun)
            }
        }
        change { book.resume(known) }
    }

    /** Shows and sends a failed intent again, with its key. */
    fun retry(key: String) = change {
        val body = book.retry(key)
        if (body != null) {
            core.send(body, feature, key, SendCompletion.COMMITTED, progress(key)) {}
        }
    }

    override fun dismiss(key: String) = change { book.dismiss(key) }

    /** Notes the result of a posted intent. */
    fun note(error: RemoteError?) = change {
        failure = error
        if (error != null) report("An intent for \"$feature\" failed: $error")
    }

    /** Returns when no state is held, which takes a second at most. Throws if the state could not be read. */
    suspend fun settled() {
        val end = CompletableDeferred<Unit>()
        change { settled += end }
        end.await()
    }

    // Changes

    /** Performs a change, or leaves it to the thread that performs one at present. */
    private fun change(change: () -> Unit) {
        synchronized(lock) {
            changes += change
            if (isChanging) return
            isChanging = true
        }
        while (true) {
            val next = synchronized(lock) {
                changes.removeFirstOrNull().also { if (it == null) isChanging = false }
            } ?: return
            val hold = if (book.isHolding) book.holdNumber else null
            next()
            follow(hold)
        }
    }

    /**
     * Performs what follows from a change.
     *
     * @param before the number of the state that was held before.
     */
    private fun follow(before: Int?) {
        onChange(Picture(book.shown, book.confirmed, book.entries, presence, availability, outdated ?: failure))
        if (!book.isHolding) {
            val error = outdated?.let { RemoteError(it.code, it.message.orEmpty(), mayHaveRun = true) }
            for (waiter in settled) if (error == null) waiter.complete(Unit) else waiter.completeExceptionally(error)
            settled.clear()
        }
        if (labels.put(book.takeLabels())) report("Nobody collects the labels of \"$feature\". The oldest is dropped.")
        if (book.isHolding && book.holdNumber != before) {
            val hold = book.holdNumber
            core.after(Predictions.DOUBT_LIMIT) { change { book.suspend(hold) } }
        }
        if (book.isMispredicted) {
            book.isMispredicted = false
            report("A prediction for \"$feature\" differs from the server's state.")
        }
    }
}
