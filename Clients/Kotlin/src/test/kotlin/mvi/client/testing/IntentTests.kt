package mvi.client.testing

import kotlin.time.Duration.Companion.seconds
import mvi.client.RemoteError
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
)
