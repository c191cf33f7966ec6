package mvi.client

/** An intent that a store shows before the server has confirmed it; see [RemoteStore.pending]. */
class PredictedIntent<Intent> internal constructor(
    /** The intent's idempotency key. */
    val id: String,
    val intent: Intent,
    val status: PredictionStatus,
    /** The error of a failed intent. */
    val error: RemoteError?,
    private val retries: (String) -> Unit,
    private val dismisses: (String) -> Unit,
) {
    /** Shows and sends a failed intent again, with the same key: it runs once. */
    fun retry() = retries(id)

    /** Forgets a failed intent. */
    fun dismiss() = dismisses(id)

    override fun equals(other: Any?): Boolean =
        other is PredictedIntent<*> && id == other.id && status == other.status && error == other.error

    override fun hashCode(): Int = id.hashCode()

    override fun toString(): String = "PredictedIntent($id, $intent, $status)"
}

/** The status of a predicted intent. */
enum class PredictionStatus {
    /** It has no answer. */
    SENDING,

    /** The server has committed it, and the store does not show that yet. */
    SENT,

    /** The server refused it, or its answer did not come in time; see the error. It is not shown. */
    FAILED,
}
