package mvi.client.testing

import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import mvi.client.RemoteError
import mvi.client.TransportFailure
import mvi.client.connection.Command
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Input
import mvi.client.connection.Outcome
import mvi.client.connection.PendingIntent

private const val PROBLEM = "application/problem+json"

/** A connection that is live, whose store is watched. */
private fun live(): Play = Play(ConnectionSettings(), random = 0.5).apply {
    handle(Input.Watch("list"))
    handle(Input.Credential("token-1"))
    hello()
}

private fun Play.send(id: Long): List<Command> = handle(Input.Send(PendingIntent(id, "list", "{\"n\":$id}", "key-$id")))

private fun List<Command>.starts(end: String): List<Command.Start> =
    filterIsInstance<Command.Start>().filter { it.request.target.substringBefore('?').endsWith(end) }

private val List<Command>.intents: List<String?> get() = starts("/intents").map { it.request.body }

private fun problem(name: String, status: Int) = """{"type":"/problems/$name","status":$status,"code":"slow-down"}"""

internal fun intentTests(): List<Test> = listOf(429 to "intent-limited", 503 to "check-timeout").map { (status, name) ->
    Test("a feature's own refusal with $status is the app's answer at once") {
        val play = live()
        val first = play.send(1).starts("/intents").single()
        play.send(2)
        val commands = play.answer(first.id, status, problem(name, status), PROBLEM, retryAfter = 60.seconds)
        val finish = commands.filterIsInstance<Command.Finish>().singleOrNull()
        val error = (finish?.outcome as? Outcome.Failed)?.error
        requireEqual(error?.code, RemoteError.Code.REFUSED, "the code")
        requireEqual(error?.problem?.code, "slow-down", "the author's code")
        requireEqual(commands.intents, listOf("{\"n\":2}"), "the next intent")
    }
} + listOf(
    Test("a busy server's refusals with 429 and 503 are repeated") {
        for ((status, name) in listOf(429 to "too-many-requests", 503 to "busy", 429 to "", 503 to "")) {
            val play = live()
            val first = play.send(1).starts("/intents").single()
            val commands = play.answer(first.id, status, problem(name, status), PROBLEM, retryAfter = 10.seconds)
            require(commands.none { it is Command.Finish }) { "$status $name ends the intent" }
            // A tenth of the time is added, by chance.
            requireEqual(play.advance(20.seconds).intents, listOf("{\"n\":1}"), "$status $name")
        }
    },
    Test("after an offline signal that was wrong, foreground opens the stream and frees the intents") {
        val play = live()
        play.handle(Input.Online(false))
        requireEqual(play.send(1).intents + play.advance(1.minutes).intents, listOf(), "offline")
        val commands = play.handle(Input.Foreground)
        requireEqual(commands.intents, listOf("{\"n\":1}"), "the intents")
        requireEqual(commands.starts("/events").size, 1, "the streams")
        // What the signal said is known to be wrong.
        requireEqual(play.handle(Input.Online(false)), listOf(), "the same signal")
        play.hello()
        play.answer(commands.starts("/intents").single().id, 202, """{"intent":"i","version":2}""", "application/json")
        requireEqual(play.send(2).intents, listOf("{\"n\":2}"), "a later intent")
    },
    Test("after an offline signal that was right, attempts are made at once when the network returns") {
        val play = live()
        play.handle(Input.Online(false))
        play.send(1)
        val attempt = play.handle(Input.Foreground)
        play.cut()
        play.handle(Input.End(attempt.starts("/intents").single().id, TransportFailure(mayHaveReached = false)))
        val commands = play.handle(Input.Online(true))
        requireEqual(commands.intents, listOf("{\"n\":1}"), "the intents")
        requireEqual(commands.starts("/events").size, 1, "the streams")
        play.handle(Input.Online(false))
        requireEqual(play.connection.stream.open, null, "the stream of a device that is offline again")
    },
)
