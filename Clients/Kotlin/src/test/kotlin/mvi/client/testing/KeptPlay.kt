package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.Duration.Companion.ZERO
import kotlinx.serialization.json.Json
import mvi.client.HttpAnswer
import mvi.client.HttpRequest
import mvi.client.RemoteError
import mvi.client.TransportFailure
import mvi.client.connection.Command
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Delivery
import mvi.client.connection.Input
import mvi.client.connection.KeptIntent
import mvi.client.connection.Outcome
import mvi.client.connection.PendingIntent
import mvi.client.connection.Progress
import mvi.client.store.Predictions

/** A device: what survives the end of the app, and what the app's user was told. */
internal class Device {
    /** The wall clock, in milliseconds since 1970. */
    var wall = 1_000_000_000_000L
    var credential: String? = null
    var kept: String? = null

    /** The results by key: null for a committed intent. */
    val told = LinkedHashMap<String, RemoteError?>()
}

/** One run of an app, from its start to its sudden end, with one store and its predictions. */
internal class KeptPlay(val device: Device, random: Double) {
    /** A request that has no answer. */
    class Exchange(val id: Long, val request: HttpRequest)

    private class Hold(val number: Int, val end: Duration)

    private val start = device.wall
    val play = Play(ConnectionSettings(keepsIntents = true), random).apply { wallStart = start }
    val book = Predictions<IdList, IdIntent, String> { list, intent -> IdList(list.ids + intent.id) }
    var exchanges = listOf<Exchange>()
        private set
    private var isReadWanted = false
    private val keys = mutableMapOf<Long, String>()
    private var lastNumber = 0L
    private val holds = mutableListOf<Hold>()

    init {
        perform(play.handle(Input.Watch("list")))
    }

    val isLive: Boolean get() = play.connection.stream.open?.isLive == true
    val isRead: Boolean get() = play.connection.session.isRead
    val isRestored: Boolean get() = !play.connection.intents.isRestoring
    val shown: List<String> get() = book.shown?.ids.orEmpty()
    val waiting: List<String> get() = play.connection.intents.queue.map { it.key }

    private fun perform(commands: List<Command>) {
        for (command in commands) {
            when (command) {
                is Command.Start -> exchanges = exchanges + Exchange(command.id, command.request)
                is Command.Cut -> exchanges = exchanges.filter { it.id != command.id }
                Command.LoadCredential -> isReadWanted = true
                is Command.SaveCredential -> device.credential = command.credential
                is Command.Keep -> device.kept = KeptIntent.write(command.intents)
                is Command.Restore -> book.resume(
                    command.intents.map {
                        val intent = Json.decodeFromString(IdIntent.serializer(), it.body.orEmpty())
                        Predictions.Entry(it.key, intent, it.body.orEmpty(), isLost = it.mayHaveRun)
                    },
                )
                is Command.Tell -> book.note(command.progress, keys.getValue(command.intent))
                is Command.Finish -> finish(keys.getValue(command.intent), command.outcome)
                is Command.Deliver -> take(command.delivery)
                else -> {}
            }
            if (book.isHolding && holds.none { it.number == book.holdNumber }) {
                holds += Hold(book.holdNumber, play.now + 1.seconds)
            }
        }
    }

    private fun finish(key: String, outcome: Outcome) {
        val error = (outcome as? Outcome.Failed)?.error
        require(key !in device.told) { "the result of $key is told twice" }
        device.told[key] = error
        if (error != null) {
            book.note(Progress.Failed(error), key)
            book.dismiss(key)
        }
    }

    private fun take(delivery: Delivery) {
        when (delivery) {
            is Delivery.State -> book.show(
                Json.decodeFromJsonElement(IdList.serializer(), delivery.state), delivery.version, delivery.intent,
            )
            Delivery.Forgotten -> book.reset(forgetsVersion = true)
            else -> {}
        }
    }

    // The app and its device

    fun tap(id: String) {
        val intent = IdIntent("add", id)
        val body = Json.encodeToString(IdIntent.serializer(), intent)
        book.add(intent, body, id)
        lastNumber += 1
        keys[lastNumber] = id
        perform(play.handle(Input.Send(PendingIntent(lastNumber, "list", body, id, isPredicted = true))))
    }

    /** The storage for credentials answers, if it was asked. */
    fun read() {
        if (!isReadWanted) return
        isReadWanted = false
        perform(play.handle(Input.Credential(device.credential)))
    }

    /** The storage for intents answers. */
    fun restore() {
        if (isRestored) return
        val all = device.kept?.let { KeptIntent.read(it) }.orEmpty().map {
            lastNumber += 1
            keys[lastNumber] = it.key
            PendingIntent(lastNumber, it)
        }
        perform(play.handle(Input.Restored(all)))
    }

    fun handle(input: Input) = perform(play.handle(input))

    fun advance(duration: Duration) {
        val end = play.now + duration
        while (true) {
            val next = (holds.map { it.end } + listOfNotNull(play.connection.deadline) + end).min()
            perform(play.advance(maxOf(next - play.now, ZERO)))
            for (hold in holds) if (hold.end <= play.now) book.suspend(hold.number)
            holds.removeAll { it.end <= play.now }
            device.wall = start + play.now.inWholeMilliseconds
            if (play.now >= end) return
        }
    }

    // The server

    fun answer(exchange: Exchange, status: Int, body: String) {
        exchanges = exchanges.filter { it !== exchange }
        val type = if (status < 300) "application/json" else "application/problem+json"
        perform(play.answer(exchange.id, status, body, type))
    }

    fun lose(exchange: Exchange) {
        exchanges = exchanges.filter { it !== exchange }
        perform(play.handle(Input.End(exchange.id, TransportFailure())))
    }

    /** Accepts a stream, which begins with a state. */
    fun hello(exchange: Exchange, session: String) {
        perform(play.handle(Input.Head(exchange.id, HttpAnswer(200, mapOf("content-type" to "text/event-stream")))))
        event("hello", """{"session":"$session","epoch":"e-$session","resumed":false,"heartbeat":20}""")
    }

    fun event(name: String, data: String) = perform(play.event(name, data))

    fun cutStream() = perform(play.cut())
}
