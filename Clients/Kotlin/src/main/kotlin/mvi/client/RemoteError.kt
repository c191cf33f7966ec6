package mvi.client

/**
 * The exception of an intent that failed, or whose result is unknown.
 *
 * @property code the kind of failure.
 * @property problem the server's answer, if there was one.
 * @property mayHaveRun true if the server may have run the intent: it was sent, but no answer settled it.
 */
class RemoteError(
    val code: Code,
    message: String,
    val problem: ServerProblem? = null,
    val mayHaveRun: Boolean = false,
) : Exception(message) {
    /** The kinds of failures. */
    enum class Code {
        /** The server refused the intent; see [RemoteError.problem]. Nothing of it was kept. */
        REFUSED,

        /** The intent's patience ended before the server answered. */
        GAVE_UP,

        /** Too many intents are waiting, so this one was not enqueued. */
        QUEUE_FULL,

        /** The intent's session ended before the answer, or now belongs to another user. */
        SESSION_ENDED,

        /** The server requires an identity, and there is none. */
        SIGNED_OUT,

        /** [RemoteServer.close] was called. */
        CLOSED,

        /** The app is older than the server: the store's state does not match the app's type. */
        OUTDATED,

        /** The intent cannot be written as JSON. */
        NOT_ENCODABLE,
    }

    override fun toString(): String = buildString {
        append(code).append(": ").append(message)
        if (problem != null) append(" (").append(problem).append(')')
        if (mayHaveRun) append(" The server may have run the intent.")
    }
}
