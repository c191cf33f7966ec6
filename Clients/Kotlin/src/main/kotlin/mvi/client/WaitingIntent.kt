package mvi.client

/**
 * An intent that waits for its answer.
 *
 * @property feature the id of its store.
 * @property intent the intent as JSON text.
 * @property key the idempotency key, which no other intent has.
 */
data class WaitingIntent(val feature: String, val intent: String, val key: String)
