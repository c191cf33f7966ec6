package mvi.client.store

import java.util.concurrent.atomic.AtomicLong
import kotlin.time.Duration
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import mvi.client.Availability
import mvi.client.RemoteError
import mvi.client.SendCompletion
import mvi.client.connection.Delivery
import mvi.client.connection.Outcome
import mvi.client.connection.Progress
import mvi.client.core.ClientCore

/**
 * Passes the deliveries of one store to its readers. Each one is decoded once.
 *
 * Deliveries come one at a time; intents and readers come on any thread. What follows from them is performed by one
 * thread at a time, in order, without the lock.
 *
 * @property linger the time for which the store is still watched after its last reader.
 */
internal class StoreFeed<State : Any, Intent, Label>(
    private val feature: String,
    private val core: ClientCore,
    private val json: Json,
    private val stateSerializer: KSerializer<State>,
    private val labelSerializer: KSerializer<Label>,
    predict: ((State, Intent) -> State)?,
    private val linger: Duration,
    private val report: (String) -> Unit,
) {
    /** The values that a view shows. */
    class Picture<State, Intent>(
        val state: State?,
        val confirmed: State?,
        val pending: List<Predictions.Entry<Intent>>,
        val availability: Availability,
        /** The error of the last intent of `post`. */
        val failure: RemoteError?,
    )

    /** What follows from a change. */
    private class News<State, Intent, Label>(
        val picture: Picture<State, Intent>,
        val readers: List<LabelReader<Label>>,
        /** The number of a state that is held from now on. */
        val hold: Int?,
        val reports: List<String>,
    )

    private val lock = Any()
    private val number = core.number()
    private val book = Predictions<State, Intent, Label>(predict)
    private val labels = LabelQueue<Label>()
    private val news = ArrayDeque<News<State, Intent, Label>>()
    private val reports = mutableListOf<String>()
    private var availability = Availability.UNKNOWN
    private var failure: RemoteError? = null
    private var isDelivering = false

    /** The number of readers, and whether the core watches the store. */
    private var readers = 0
    private var isWatched = false

    /** The number of times that the last reader left. */
    private val departures = AtomicLong()

    /** Receives each new picture, in order. Set once, before the first change. */
    var onChange: (Picture<State, Intent>) -> Unit = {}

    // Readers

    /** Adds a reader of states or labels. The store is watched while there is one. */
    fun enter() {
        val begins = synchronized(lock) {
            readers += 1
            !isWatched.also { isWatched = true }
        }
        if (begins) core.watch(feature, number, ClientCore.Sink(::receive, ::finish))
    }

    fun leave() {
        val departure = synchronized(lock) {
            readers -= 1
            if (readers == 0) departures.incrementAndGet() else null
        } ?: return
        if (linger > Duration.ZERO) core.after(linger) { rest(departure) } else rest(departure)
    }

    /** Ends the watch, unless there was a reader since that departure. */
    private fun rest(departure: Long) {
        val ends = change {
            val ends = readers == 0 && isWatched && departures.get() == departure
            if (ends) {
                isWatched = false
                book.unwatched()
            }
            ends
        }
        if (ends) core.unwatch(feature, number)
    }

    /** Adds a reader of labels, which receives those that arrived while there was none, and later ones. */
    fun addReader(reader: LabelReader<Label>) {
        synchronized(lock) { labels.add(reader) }
        // One that comes after the end would wait for ever.
        if (core.isClosed) reader.finish()
    }

    /** Removes a reader. If it was the last one, its labels wait for the next. */
    fun removeReader(reader: LabelReader<Label>) = synchronized(lock) { labels.remove(reader) }

    /** Returns a reader's next label; null if none waits. */
    fun next(reader: LabelReader<Label>): LabelReader.Item<Label>? = synchronized(lock) { reader.take() }

    private fun finish() {
        for (reader in synchronized(lock) { labels.readers.toList() }) reader.finish()
    }

    // Deliveries

    private fun receive(delivery: Delivery) {
        when (delivery) {
            is Delivery.State -> {
                val state = decoded(stateSerializer, delivery.state, "state") ?: return
                change {
                    availability = Availability.SHOWN
                    book.show(state.value, delivery.version, delivery.intent)
                }
            }
            is Delivery.Label -> {
                val label = decoded(labelSerializer, delivery.label, "label") ?: return
                change { book.deliver(label.value) }
            }
            Delivery.Ended -> end(Availability.ENDED)
            Delivery.Denied -> end(Availability.DENIED)
            Delivery.Missing -> end(Availability.MISSING)
            Delivery.Forgotten -> change { book.reset(forgetsVersion = true) }
            is Delivery.Reset -> {
                change { book.reset() }
                if (delivery.labelsLost) report("Labels of \"$feature\" may be lost: ${delivery.reason}.")
            }
        }
    }

    private class Decoded<Value>(val value: Value)

    private fun <Value> decoded(serializer: KSerializer<Value>, element: JsonElement, what: String): Decoded<Value>? =
        try {
            Decoded(json.decodeFromJsonElement(serializer, element))
        } catch (error: SerializationException) {
            report("A $what of \"$feature\" does not match the app's type: ${error.javaClass.simpleName}")
            null
        } catch (error: IllegalArgumentException) {
            report("A $what of \"$feature\" is refused by the app's type: ${error.javaClass.simpleName}")
            null
        }

    private fun end(availability: Availability) = change {
        this.availability = availability
        book.end()
    }

    // Intents

    /** Shows an intent before it is sent. Returns the callback for its progress; null if it is not predicted. */
    fun predict(intent: Intent, body: String, key: String): ((Progress) -> Unit)? =
        if (change { book.add(intent, body, key) }) progress(key) else null

    private fun progress(key: String): (Progress) -> Unit = { progress -> change { book.note(progress, key) } }

    /** Notes the failure of a predicted intent. */
    fun fail(error: RemoteError, key: String) = change { book.fail(error, key) }

    /** Forgets a predicted intent whose caller was canceled: nobody is left to dismiss it. */
    fun cancel(key: String) = change {
        book.fail(RemoteError(RemoteError.Code.CLOSED, "Its caller was canceled."), key)
        book.dismiss(key)
    }

    /** Shows and sends a failed intent again, with its key. */
    fun retry(key: String) {
        val body = change { book.retry(key) } ?: return
        core.send(body, feature, key, SendCompletion.COMMITTED, progress(key)) { outcome ->
            if (outcome is Outcome.Failed) fail(outcome.error, key)
        }
    }

    fun dismiss(key: String) = change { book.dismiss(key) }

    /** Notes the result of a posted intent. */
    fun note(error: RemoteError?) = change {
        failure = error
        if (error != null) reports += "An intent for \"$feature\" failed: $error"
    }

    // What follows

    private fun <Result> change(change: () -> Result): Result {
        val result: Result
        val delivers = synchronized(lock) {
            val hold = if (book.isHolding) book.holdNumber else null
            result = change()
            news += news(hold)
            !isDelivering.also { isDelivering = true }
        }
        if (delivers) deliver()
        return result
    }

    private fun news(hold: Int?): News<State, Intent, Label> {
        if (book.isMispredicted) {
            book.isMispredicted = false
            reports += "A prediction for \"$feature\" differs from the server's state."
        }
        val taken = book.takeLabels()
        if (labels.put(taken)) reports += "Nobody collects the labels of \"$feature\". The oldest is dropped."
        return News(
            Picture(book.shown, book.confirmed, book.entries, availability, failure),
            if (taken.isEmpty()) emptyList() else labels.readers.toList(),
            if (book.isHolding && book.holdNumber != hold) book.holdNumber else null,
            reports.toList().also { reports.clear() },
        )
    }

    private fun deliver() {
        while (true) {
            val next = synchronized(lock) {
                news.removeFirstOrNull().also { if (it == null) isDelivering = false }
            } ?: return
            onChange(next.picture)
            for (reader in next.readers) reader.wake()
            next.hold?.let { hold -> core.after(Predictions.DOUBT_LIMIT) { change { book.suspend(hold) } } }
            for (text in next.reports) report(text)
        }
    }
}
