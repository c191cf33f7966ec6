package mvi.client

import kotlin.time.Duration

/** Sends requests and reports their answers, without retries, redirects or cookies. */
interface Transport {
    /**
     * Sends a request without blocking. `told` is called from any thread, one call at a time, with a head, any number
     * of pieces and one end. It may still be called after [cut].
     *
     * @param id a number that no other request of the client has.
     */
    fun start(id: Long, request: HttpRequest, told: (TransportEvent) -> Unit)

    /** Cancels a request. */
    fun cut(id: Long)

    /** Cancels all requests for good. */
    fun close()
}

/** An event of a request. */
sealed interface TransportEvent {
    /** The status and fields, without a body. */
    data class Head(val answer: HttpAnswer) : TransportEvent

    /** A piece of the body. */
    class Piece(val bytes: ByteArray) : TransportEvent

    /** The answer is complete, or the request failed. */
    data class End(val failure: TransportFailure?) : TransportEvent
}

/**
 * The failure of a request without a whole answer.
 *
 * @property mayHaveReached true if the server may have received the request.
 */
data class TransportFailure(val mayHaveReached: Boolean = true, val message: String = "")

/** A header field. */
data class HttpField(val name: String, val value: String)

/**
 * A request of the client, without the server's address.
 *
 * @property target the path and query, beginning with a slash.
 * @property body JSON, or null.
 */
data class HttpRequest(
    val method: String,
    val target: String,
    val fields: List<HttpField> = emptyList(),
    val body: String? = null,
) {
    /** Returns the value of the first field with the name. */
    operator fun get(name: String): String? = fields.firstOrNull { it.name == name }?.value
}

/**
 * An answer of the server.
 *
 * @property fields the header fields, with names in lower case.
 * @property retryAfter the delay in `Retry-After`, counted from the answer's arrival. A date is compared with the
 *     field `Date`, if the answer has it.
 */
class HttpAnswer(
    val status: Int,
    val fields: Map<String, String> = emptyMap(),
    val retryAfter: Duration? = null,
    val body: ByteArray = ByteArray(0),
) {
    internal val text: String get() = body.decodeToString()

    /** The type of the body in lower case without parameters; empty if there is none. */
    internal val mediaType: String
        get() = fields["content-type"].orEmpty().substringBefore(';').lowercase().replace(" ", "")

    internal fun with(body: ByteArray) = HttpAnswer(status, fields, retryAfter, body)
}
