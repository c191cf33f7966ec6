package mvi.client.connection

import kotlin.time.Duration
import kotlinx.serialization.json.JsonElement
import mvi.client.Condition
import mvi.client.HttpRequest
import mvi.client.IntentReceipt
import mvi.client.RemoteError
import mvi.client.StorePresence
import mvi.client.WaitingIntent

/** An action that a [Connection] requests. Actions are performed in order. */
internal sealed interface Command {
    data class Start(val id: Long, val request: HttpRequest) : Command

    /** Cancels a request. */
    data class Cut(val id: Long) : Command

    data object LoadCredential : Command
    data class SaveCredential(val credential: String?) : Command
    data object AskIdentity : Command
    data class Deliver(val feature: String, val delivery: Delivery) : Command
    data class Finish(val intent: Long, val outcome: Outcome) : Command

    /** For an intent whose prediction is shown. */
    data class Tell(val intent: Long, val progress: Progress) : Command

    /** Shows intents that an earlier run of the app has kept. */
    class Restore(val intents: List<PendingIntent>) : Command

    /** The storage must have these intents. */
    data class Keep(val intents: List<KeptIntent>) : Command

    data class Show(val condition: Condition) : Command

    /** The waiting intents have changed. */
    data class ShowWaiting(val intents: List<WaitingIntent>) : Command

    /** Calls a function of the client's, in the order of the commands. */
    class Call(val call: () -> Unit) : Command

    /** Passes a message to the app's log. */
    data class Report(val text: String) : Command
}

/** The result of an intent. */
internal sealed interface Outcome {
    data class Committed(val receipt: IntentReceipt) : Outcome
    data class Failed(val error: RemoteError) : Outcome
}

/** A delivery to the watchers of a store. */
internal sealed interface Delivery {
    /** @property intent the key of the intent that led to it, if known. */
    data class State(val version: Long, val intent: String?, val state: JsonElement) : Delivery

    /** @property end the time until which it may be shown; null from a server that does not say. */
    data class Label(
        val id: String,
        val version: Long,
        val intent: String?,
        val isReplay: Boolean,
        val label: JsonElement,
        val end: Duration? = null,
    ) : Delivery

    /** Other clients look at the store; null if it is not known any more who does. */
    data class Presence(val presence: StorePresence?) : Delivery

    /** The store was disposed of. */
    data object Ended : Delivery

    /** The caller may not see the feature. */
    data object Denied : Delivery

    /** The feature does not exist, or there is nothing under its key. */
    data object Missing : Delivery

    data class Reset(val reason: String, val labelsLost: Boolean) : Delivery

    /** The next states belong to another session, or to another log of this one. */
    data object Forgotten : Delivery
}

/** The progress of an intent. Its store notes it before the next intent is sent. */
internal sealed interface Progress {
    /** An attempt begins. */
    data object Sent : Progress

    /** The server refused the attempt without running it. */
    data object Unsent : Progress

    /** The server committed it; the version is null if the store is not watched. */
    data class Answered(val version: Long?) : Progress

    data class Failed(val error: RemoteError) : Progress

    /** Its caller was canceled. */
    data object Canceled : Progress
}
