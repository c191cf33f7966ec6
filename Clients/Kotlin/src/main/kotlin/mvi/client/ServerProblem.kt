package mvi.client

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import mvi.client.wire.Wire
import mvi.client.wire.WireException
import mvi.client.wire.optionalString
import mvi.client.wire.string

/**
 * A refusal by the server (RFC 9457): its status and its problem document.
 *
 * @property status the status of the HTTP answer.
 * @property type the problem's type, such as `/problems/intent-conflict`; null if the answer has no problem document,
 *     for instance that of a proxy.
 * @property title the title of the type.
 * @property detail the description for people.
 * @property code the code that the feature's author gave to the refusal, if any.
 * @property errors the affected members of the intent, if the server named them.
 */
data class ServerProblem(
    val status: Int,
    val type: String? = null,
    val title: String? = null,
    val detail: String? = null,
    val code: String? = null,
    val errors: List<Part> = emptyList(),
) {
    /**
     * A part of the request that the problem concerns.
     *
     * @property pointer a JSON Pointer into the intent (RFC 6901), such as `/amount`.
     * @property detail the description for people.
     */
    data class Part(val pointer: String, val detail: String)

    /** The last part of [type]: `intent-conflict`. */
    internal val name: String? get() = type?.substringAfterLast('/')?.ifEmpty { null }

    override fun toString(): String = listOfNotNull(status.toString(), type, detail ?: title).joinToString(" ")

    internal companion object {
        /** Reads the problem of an answer; without a problem document, only the status is set. */
        fun of(answer: HttpAnswer): ServerProblem {
            val bare = ServerProblem(answer.status)
            if (answer.mediaType != "application/problem+json") return bare
            return try {
                val document = Wire.readObject(answer.text)
                ServerProblem(
                    answer.status, document.optionalString("type"), document.optionalString("title"),
                    document.optionalString("detail"), document.optionalString("code"), parts(document),
                )
            } catch (_: WireException) {
                bare
            }
        }

        private fun parts(document: JsonObject): List<Part> =
            (document["errors"] as? JsonArray)?.map { part ->
                val members = part as? JsonObject ?: throw WireException("A part of \"errors\" is not an object.")
                Part(members.string("pointer"), members.string("detail"))
            } ?: emptyList()
    }
}
