package mvi.client.testing

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import mvi.client.HttpAnswer
import mvi.client.HttpRequest
import mvi.client.Transport
import mvi.client.TransportEvent
import mvi.client.TransportFailure

/** A transport whose answers a test decides, except that sessions are created at once. */
internal class FakeServer : Transport {
    class Exchange(val request: HttpRequest, private val told: (TransportEvent) -> Unit) {
        fun answer(status: Int, body: String, type: String = "application/json") {
            told(TransportEvent.Head(HttpAnswer(status, mapOf("content-type" to type))))
            told(TransportEvent.Piece(body.encodeToByteArray()))
            told(TransportEvent.End(null))
        }

        /** Accepts an intent. */
        fun accept(version: Int) = answer(202, """{"intent":"i","session":"s1","version":$version}""")

        fun refuse(status: Int, code: String) = answer(
            status, """{"type":"/problems/intent-refused","status":$status,"code":"$code"}""",
            "application/problem+json",
        )

        /** Its connection is lost. */
        fun lose() = told(TransportEvent.End(TransportFailure()))

        val key: String get() = request["Idempotency-Key"].orEmpty().trim('"')

        /** Accepts a stream and greets. */
        fun hello() {
            told(TransportEvent.Head(HttpAnswer(200, mapOf("content-type" to "text/event-stream"))))
            event("hello", """{"session":"s1","epoch":"e1","resumed":false,"heartbeat":20}""")
        }

        fun event(name: String, data: String) =
            told(TransportEvent.Piece("event: $name\ndata: $data\n\n".encodeToByteArray()))

        fun state(version: Int, ids: String) =
            event("state", """{"feature":"list","version":$version,"state":{"ids":[$ids]}}""")

        /** A state that an old app does not know. */
        fun outdated(version: Int) =
            event("state", """{"feature":"list","version":$version,"state":{"ids":5}}""")

        fun label(id: String, expiresIn: Int = 300) = event(
            "label",
            """{"feature":"list","version":1,"id":"$id","replay":false,"expiresIn":$expiresIn,"label":"$id"}""",
        )
    }

    private val exchanges = LinkedBlockingQueue<Exchange>()
    val cuts = LinkedBlockingQueue<Exchange>()
    private val pending = ConcurrentHashMap<Long, Exchange>()

    override fun start(id: Long, request: HttpRequest, told: (TransportEvent) -> Unit) {
        val exchange = Exchange(request, told)
        pending[id] = exchange
        if (request.target == "/sessions") {
            exchange.answer(201, """{"id":"s1","token":"t1"}""")
        } else {
            exchanges.put(exchange)
        }
    }

    override fun cut(id: Long) {
        pending[id]?.let { cuts.put(it) }
    }

    override fun close() {}

    /** Returns the next request, or fails. */
    fun next(): Exchange = exchanges.poll(60, TimeUnit.SECONDS) ?: throw TestFailure("no request came")

    fun nextCut(): Exchange = cuts.poll(60, TimeUnit.SECONDS) ?: throw TestFailure("no request was canceled")

    val isIdle: Boolean get() = exchanges.isEmpty()

    /** True if there was no request at all, also for a session. */
    val isUnasked: Boolean get() = pending.isEmpty()
}
