package mvi.client.connection

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.json.JsonElement
import mvi.client.HttpAnswer
import mvi.client.ServerProblem
import mvi.client.StorePresence
import mvi.client.wire.Bytes
import mvi.client.wire.EventParser

internal sealed interface StreamPhase {
    /** There is no stream, and the next step depends on the session or the app. */
    data object Closed : StreamPhase

    /** The next attempt comes at this time. */
    data class Waiting(val until: Duration) : StreamPhase

    class Open(val stream: OpenStream) : StreamPhase

    /** The stream was superseded; it is reopened when the app returns to the foreground. */
    data object Paused : StreamPhase

    data class Failed(val problem: ServerProblem) : StreamPhase
}

/** A requested stream. */
internal class OpenStream(
    val id: Long,
    val features: List<String>,
    val generation: Int,
    /** True if patches were requested. */
    val asksForPatches: Boolean,
    var lastByte: Duration,
) {
    var heartbeat = 20.seconds

    /** True if `hello` was received. */
    var isLive = false
    var isAccepted = false

    /** The answer, if it is not a stream. */
    var refusal: HttpAnswer? = null
    val refusalBody = Bytes()
    val parser = EventParser()

    /** The features whose whole state was shown on this connection. */
    val shown = mutableSetOf<String>()

    /** The time at which the connection counts as lost. */
    val silenceEnd: Duration get() = lastByte + heartbeat * 2.5
}

/** A state that was shown, which patches apply to. */
internal class Shown(val version: Long, val state: JsonElement)

/** The reason why a watched feature is left out of the stream. */
internal enum class Refusal(val delivery: Delivery) {
    DENIED(Delivery.Denied),
    MISSING(Delivery.Missing),
}

/** The state of the client's stream and of the stores that it showed. */
internal class StreamState {
    var phase: StreamPhase = StreamPhase.Closed

    /** The time at which the stream was lost. */
    var lost = Duration.ZERO

    /** True if the server gave the time of the next attempt. */
    var isAskedTo = false

    /** The number of failed attempts since the last `hello`. */
    var attempts = 0

    /** The value of the last `retry`. */
    var retryBase = 3.seconds

    /** The value of `Last-Event-ID`. */
    var cursor = ""
    val shown = mutableMapOf<String, Shown>()

    /** Kept over reconnects. */
    val presences = mutableMapOf<String, StorePresence>()
    var seen = SeenLabels()
    val refused = mutableMapOf<String, Refusal>()

    /** The refusals found so far for the features of a refused stream. */
    val looked = mutableMapOf<String, Refusal>()

    /** The end of the period in which changes of the watched stores are gathered. */
    var gatherEnd: Duration? = null

    /** The number of consecutive streams that were reopened because of a patch. */
    var failedPatches = 0

    val open: OpenStream? get() = (phase as? StreamPhase.Open)?.stream

    /** Ends a delay that the client chose. */
    fun retryNow() {
        val waiting = phase as? StreamPhase.Waiting ?: return
        if (!isAskedTo) phase = StreamPhase.Waiting(minOf(waiting.until, lost + Pace.FLOOR))
    }

    companion object {
        /** The number of streams reopened because of a patch after which patches are no longer requested. */
        const val FAILED_PATCH_LIMIT = 3
    }
}
