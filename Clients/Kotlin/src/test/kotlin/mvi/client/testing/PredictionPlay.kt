package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.Duration.Companion.ZERO
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonPrimitive
import mvi.client.DeltaFormat
import mvi.client.TransportFailure
import mvi.client.connection.Command
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Delivery
import mvi.client.connection.Input
import mvi.client.connection.Outcome
import mvi.client.connection.PendingIntent
import mvi.client.connection.Progress
import mvi.client.store.Predictions

/** The list of the ids that were added. */
@Serializable
internal data class IdList(val ids: List<String>)

/** An intent that adds an id. */
@Serializable
internal data class IdIntent(val type: String, val id: String)

/** A store of a connection whose inputs, time and chance a test decides, with predictions. */
internal class PredictionPlay(random: Double) {
    private class Hold(val number: Int, val end: Duration)

    /** The attempt in flight. */
    class Attempt(val id: Long, val key: String)

    val play = Play(ConnectionSettings(delta = DeltaFormat.MERGE_PATCH), random)
    val book = Predictions<IdList, IdIntent, String> { list, intent ->
        if (intent.id == "throws" || intent.type != "add") throw IllegalStateException("It cannot be predicted.")
        IdList(list.ids + intent.id)
    }
    val labels = mutableListOf<String>()

    /** The keys of the intents that wait for their answers, as the app sees them. */
    var waiting = listOf<String>()
        private set
    var inFlight: Attempt? = null
        private set
    private val keys = mutableMapOf<Long, String>()
    private var lastNumber = 0L
    private val holds = mutableListOf<Hold>()
    private var told = 0

    init {
        // A store whose stream has said hello.
        perform(play.handle(Input.Watch("list")))
        perform(play.handle(Input.Credential("token-1")))
        perform(play.hello())
    }

    val shown: List<String> get() = book.shown?.ids.orEmpty()
    val confirmed: List<String> get() = book.confirmed?.ids.orEmpty()

    /** Performs commands as a feed does. */
    private fun perform(commands: List<Command>) {
        for (command in commands) {
            when (command) {
                is Command.Start -> if (command.request.target.endsWith("/intents")) {
                    inFlight = Attempt(command.id, command.request["Idempotency-Key"].orEmpty().trim('"'))
                }
                is Command.Cut -> if (command.id == inFlight?.id) inFlight = null
                is Command.Tell -> keys[command.intent]?.let { book.note(command.progress, it) }
                is Command.Finish -> {
                    val outcome = command.outcome
                    if (outcome is Outcome.Failed) keys[command.intent]?.let { book.note(Progress.Failed(outcome.error), it) }
                }
                is Command.Deliver -> take(command.delivery)
                is Command.ShowWaiting -> waiting = command.intents.map { it.key }
                else -> {}
            }
            follow()
        }
    }

    private fun take(delivery: Delivery) {
        when (delivery) {
            is Delivery.State -> book.show(
                Json.decodeFromJsonElement(IdList.serializer(), delivery.state), delivery.version, delivery.intent,
            )
            is Delivery.Label -> book.deliver((delivery.label as JsonPrimitive).content)
            is Delivery.Presence -> {}
            Delivery.Ended, Delivery.Denied, Delivery.Missing -> book.end()
            is Delivery.Reset -> book.reset()
            Delivery.Forgotten -> book.reset(forgetsVersion = true)
        }
    }

    private fun follow() {
        labels += book.takeLabels()
        if (book.isHolding && book.holdNumber > told) {
            told = book.holdNumber
            holds += Hold(told, play.now + 1.seconds)
        }
    }

    // Steps

    fun tap(id: String, type: String = "add") {
        val intent = IdIntent(type, id)
        val body = Json.encodeToString(IdIntent.serializer(), intent)
        // The server's author predicts `add` only.
        enqueue(id, body, isPredicted = type == "add" && book.add(intent, body, id))
        follow()
    }

    fun retry(id: String) {
        book.retry(id)?.let { enqueue(id, it, isPredicted = true) }
    }

    private fun enqueue(key: String, body: String, isPredicted: Boolean) {
        lastNumber += 1
        keys[lastNumber] = key
        perform(play.handle(Input.Send(PendingIntent(lastNumber, "list", body, key, isPredicted = isPredicted))))
    }

    fun advance(duration: Duration) {
        val end = play.now + duration
        while (true) {
            val next = (holds.map { it.end } + listOfNotNull(play.connection.deadline) + end).min()
            perform(play.advance(maxOf(next - play.now, ZERO)))
            for (hold in holds) if (hold.end <= play.now) book.suspend(hold.number)
            holds.removeAll { it.end <= play.now }
            follow()
            if (play.now >= end) return
        }
    }

    /** Answers the attempt in flight. */
    private fun answer(status: Int, type: String, body: (key: String) -> String) {
        val attempt = inFlight ?: throw TestFailure("no attempt is in flight")
        inFlight = null
        perform(play.answer(attempt.id, status, body(attempt.key), type))
    }

    fun answer(version: Int) = answer(202, "application/json") {
        """{"intent":"$it","session":"s1","feature":"list","version":$version}"""
    }

    fun refuse(status: Int, problem: String = "refused") = answer(status, "application/problem+json") {
        """{"type":"/problems/$problem","status":$status}"""
    }

    fun lose() {
        val attempt = inFlight ?: throw TestFailure("no attempt is in flight")
        inFlight = null
        perform(play.handle(Input.End(attempt.id, TransportFailure())))
    }

    fun event(name: String, data: String) = perform(play.event(name, data))

    fun state(version: Int, ids: List<String>, intent: String?) =
        event("state", """{"feature":"list","version":$version${named(intent)},"state":{"ids":${json(ids)}}}""")

    fun patch(from: Int, to: Int, ids: List<String>, intent: String?) = event(
        "patch", """{"feature":"list","from":$from,"to":$to${named(intent)},"patch":{"ids":${json(ids)}}}""",
    )

    fun hello(epoch: String) {
        perform(play.cut())
        while (play.connection.stream.open == null) advance(1.seconds)
        perform(play.hello(epoch, "$epoch.1"))
    }

    fun unwatch() {
        perform(play.handle(Input.Unwatch("list")))
        book.unwatched()
        follow()
    }

    private fun named(intent: String?) = intent?.let { ",\"intent\":\"$it\"" }.orEmpty()

    private fun json(ids: List<String>) = ids.joinToString(",", "[", "]") { "\"$it\"" }
}
