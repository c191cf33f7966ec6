package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.ZERO
import mvi.client.HttpAnswer
import mvi.client.TransportFailure
import mvi.client.connection.Command
import mvi.client.connection.Connection
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Input

/** A connection whose inputs, time and chance a test decides. */
internal class Play(settings: ConnectionSettings, random: Double) {
    var now = ZERO
        private set

    /** The wall clock's time at the start, in milliseconds since 1970. */
    var wallStart = 0L
    val connection =
        Connection(settings.copy(gatherTime = ZERO), { random }) { wallStart + now.inWholeMilliseconds }

    /** The stream that was opened last. */
    private var stream: Long? = null

    fun handle(input: Input): List<Command> {
        val commands = connection.handle(input, now)
        for (command in commands) {
            if (command !is Command.Start || command.request.method != "GET") continue
            if (command.request.target.startsWith("/events")) stream = command.id
        }
        return commands
    }

    fun advance(duration: Duration): List<Command> {
        now += duration
        return handle(Input.Tick)
    }

    /** Answers a request whole. */
    fun answer(id: Long, status: Int, body: String, type: String, retryAfter: Duration? = null): List<Command> =
        handle(Input.Head(id, HttpAnswer(status, mapOf("content-type" to type), retryAfter))) +
            handle(Input.Piece(id, body.encodeToByteArray())) + handle(Input.End(id, null))

    private fun opened(): Long = stream ?: throw TestFailure("there is no stream")

    /** Writes an event to the last stream. */
    fun event(name: String, data: String, id: String? = null): List<Command> {
        val text = (id?.let { "id: $it\n" } ?: "") + "event: $name\ndata: $data\n\n"
        return handle(Input.Piece(opened(), text.encodeToByteArray()))
    }

    fun hello(epoch: String = "e1", cursor: String = "e1.1"): List<Command> {
        val head = HttpAnswer(200, mapOf("content-type" to "text/event-stream; charset=utf-8"))
        val data = """{"session":"s1","epoch":"$epoch","resumed":false,"heartbeat":20}"""
        return handle(Input.Head(opened(), head)) + event("hello", data, cursor)
    }

    /** The stream is cut. */
    fun cut(): List<Command> = handle(Input.End(opened(), TransportFailure()))
}
