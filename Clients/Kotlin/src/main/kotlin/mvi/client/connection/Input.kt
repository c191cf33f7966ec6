package mvi.client.connection

import mvi.client.HttpAnswer
import mvi.client.TransportFailure

/** An input of a [Connection]. */
internal sealed interface Input {
    data class Watch(val feature: String) : Input
    data class Unwatch(val feature: String) : Input
    data class Send(val intent: PendingIntent) : Input

    /** The storage has answered: intents that an earlier run of the app has kept, which may be none. */
    class Restored(val intents: List<PendingIntent>) : Input

    /** The caller of `send` no longer waits. */
    data class CancelIntent(val id: Long) : Input

    data class Online(val isOnline: Boolean) : Input
    data object Foreground : Input

    /**
     * The app has a new identity.
     *
     * @property keepsStores true to keep the stores of an anonymous session.
     */
    data class SignIn(val keepsStores: Boolean = true) : Input

    data object RenewSession : Input
    data object Close : Input

    /** The credential storage answered. */
    data class Credential(val credential: String?) : Input

    /** The credential storage cannot be read now. */
    data object CredentialUnreadable : Input

    /** The identity callback answered. */
    data class Identity(val identity: String?) : Input

    class Head(val id: Long, val answer: HttpAnswer) : Input
    class Piece(val id: Long, val bytes: ByteArray) : Input

    /** The answer is complete, or the connection failed. */
    data class End(val id: Long, val failure: TransportFailure?) : Input

    /** Time has passed. */
    data object Tick : Input
}
