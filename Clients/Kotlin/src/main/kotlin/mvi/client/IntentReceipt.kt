package mvi.client

/**
 * The server's answer to a committed intent.
 *
 * @property intent the intent's id, which resulting events contain.
 * @property session the id of the session that the intent ran in.
 * @property version the version of the store after the intent; 0 if the answer has none.
 */
data class IntentReceipt(val intent: String, val session: String, val version: Long)

/** The moment at which `send` returns. */
enum class SendCompletion {
    /** After the server has committed the intent. */
    COMMITTED,

    /**
     * After the store has also shown a state that includes the intent. Immediate if the store is not watched; without
     * an exception at the end of the intent's patience.
     */
    SHOWN,
}
