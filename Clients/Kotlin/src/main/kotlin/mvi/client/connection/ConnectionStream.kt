package mvi.client.connection

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import mvi.client.HttpAnswer
import mvi.client.HttpField
import mvi.client.ServerProblem
import mvi.client.TransportFailure
import mvi.client.connection.Connection.Answered
import mvi.client.connection.Connection.Purpose
import mvi.client.wire.EventParsingException

// Opens, loses and reopens the stream.

/** The features that the stream shows. */
internal val Connection.streamFeatures: List<String> get() = watched.filter { it !in stream.refused }

internal val Connection.streamDeadline: Duration?
    get() = stream.gatherEnd ?: when (val phase = stream.phase) {
        is StreamPhase.Waiting -> phase.until
        is StreamPhase.Open -> phase.stream.silenceEnd
        else -> null
    }

// Watched stores

internal fun Connection.watch(feature: String) {
    if (watched.add(feature)) return gatherWatches()
    // For another watcher of the same store.
    stream.shown[feature]?.let { deliver(feature, Delivery.State(it.version, null, it.state)) }
    stream.presences[feature]?.let { deliver(feature, Delivery.Presence(it)) }
}

internal fun Connection.unwatch(feature: String) {
    if (!watched.remove(feature)) return
    stream.shown.remove(feature)
    stream.presences.remove(feature)
    stream.refused.remove(feature)
    endShownWaits { it.intent.feature == feature }
    gatherWatches()
}

private fun Connection.gatherWatches() {
    stream.gatherEnd = stream.gatherEnd ?: (now + settings.gatherTime)
    // Another set of features may be accepted after a refusal.
    if (stream.phase is StreamPhase.Failed) stream.phase = StreamPhase.Closed
}

// Opening

internal fun Connection.advanceStream() {
    stream.gatherEnd?.let { if (it > now) return }
    stream.gatherEnd = null
    val features = streamFeatures
    if (features.isEmpty() || session.isOver) return closeStream()
    when (val phase = stream.phase) {
        is StreamPhase.Open -> if (phase.stream.features != features) {
            closeStream()
            openStream(features)
        }
        StreamPhase.Closed -> openStream(features)
        is StreamPhase.Waiting -> if (phase.until <= now) openStream(features)
        StreamPhase.Paused, is StreamPhase.Failed -> {}
    }
}

private fun Connection.openStream(features: List<String>) {
    if (!isOnline || !session.isUsable) return
    val delta = settings.delta?.takeIf { stream.failedPatches < StreamState.FAILED_PATCH_LIMIT }
    val query = features.map { "feature=${escaped(it)}" }.toMutableList()
    delta?.let { query += "delta=${it.query}" }
    val fields = mutableListOf(
        HttpField("Accept", "text/event-stream"), HttpField("Cache-Control", "no-store"),
        // A compressed stream may stay in a proxy's buffer.
        HttpField("Accept-Encoding", "identity"),
        // Requests refusals with their status, not as a stream that ends at once.
        HttpField("Prefer", "problem"),
    )
    if (stream.cursor.all { it in '!'..'~' }) {
        if (stream.cursor.isNotEmpty()) fields += HttpField("Last-Event-ID", stream.cursor)
    } else {
        // A header field cannot have all characters.
        query += "last_event_id=${escaped(stream.cursor)}"
    }
    val id = newExchange()
    stream.phase = StreamPhase.Open(OpenStream(id, features, session.generation, delta != null, now))
    commands += Command.Start(id, request("GET", "/events?" + query.joinToString("&"), fields))
}

/**
 * Encodes a feature id for a path or query: all bytes except unreserved ones and the colon become `%XX` (RFC 3986
 * section 2.1).
 */
internal fun escaped(text: String): String = buildString {
    for (byte in text.encodeToByteArray()) {
        val character = byte.toInt().toChar()
        if (character in 'a'..'z' || character in 'A'..'Z' || character in '0'..'9' || character in "-._~:") {
            append(character)
        } else {
            append('%').append("%02X".format(byte))
        }
    }
}

// Losing

/** Closes the stream, if there is one. It is reopened as soon as possible. */
internal fun Connection.closeStream() {
    when (val phase = stream.phase) {
        is StreamPhase.Open -> {
            commands += Command.Cut(phase.stream.id)
            stream.phase = StreamPhase.Closed
        }
        is StreamPhase.Waiting -> stream.phase = StreamPhase.Closed
        else -> {}
    }
}

/** Handles the loss of the stream. Another attempt follows after a delay. */
internal fun Connection.loseStream(asked: Duration? = null) {
    closeStream()
    stream.lost = now
    stream.isAskedTo = asked != null && asked > Duration.ZERO
    val delay = if (asked != null && stream.isAskedTo) {
        pace.asked(asked)
    } else {
        pace.delay(stream.retryBase, stream.attempts)
    }
    stream.phase = StreamPhase.Waiting(now + delay)
    stream.attempts += 1
}

internal fun Connection.retryStreamNow(includingPaused: Boolean) {
    when (stream.phase) {
        is StreamPhase.Waiting -> stream.phase = StreamPhase.Waiting(now)
        StreamPhase.Paused -> if (includingPaused) stream.phase = StreamPhase.Closed
        else -> {}
    }
}

internal fun Connection.checkWatchdog() {
    val open = stream.open ?: return
    if (open.silenceEnd > now) return
    if (!open.isLive) return loseStream()
    // A connection that was healthy is reopened at once, since a device that wakes up usually has a user.
    closeStream()
    stream.attempts += 1
}

/**
 * Forgets the cursor, versions and label ids, which belong to another log.
 *
 * @param keepsPresences true if it is a log of the same session.
 */
internal fun Connection.forgetLog(keepsPresences: Boolean = false) {
    if (!keepsPresences) forgetPresences()
    session.id = null
    session.epoch = null
    stream.cursor = ""
    stream.shown.clear()
    stream.seen = SeenLabels()
    endShownWaits { true }
    for (feature in watched) deliver(feature, Delivery.Forgotten)
}

// Answers

internal fun Connection.streamHead(answer: HttpAnswer) {
    val open = stream.open ?: return
    open.lastByte = now
    open.isAccepted = answer.status == 200 && answer.mediaType == "text/event-stream"
    if (!open.isAccepted) open.refusal = answer
    if (answer.status == 204) if (deferToSignIn()) closeStream() else endSession()
}

internal fun Connection.streamBytes(bytes: ByteArray) {
    val open = stream.open ?: return
    open.lastByte = now
    if (!open.isAccepted) {
        if (open.refusalBody.size + bytes.size <= Connection.ANSWER_LIMIT) open.refusalBody.add(bytes)
        return
    }
    val before = open.parser.lastEventId
    val events = try {
        open.parser.feed(bytes)
    } catch (error: EventParsingException) {
        commands += Command.Report(error.message.orEmpty())
        return loseStream()
    }
    open.parser.retryMilliseconds?.let { stream.retryBase = it.milliseconds }
    for (event in events) {
        take(event)
        // One that does not greet is another session's.
        if (stream.open !== open && event.name == "hello") return
        event.id?.let { stream.cursor = it }
        if (stream.open !== open) return
    }
    val after = open.parser.lastEventId
    // An id without an event.
    if (after != before || events.any { it.id != null }) stream.cursor = after
}

internal fun Connection.streamEnd(failure: TransportFailure?) {
    val open = stream.open ?: return
    // The stream has ended, so there is nothing to cancel.
    stream.phase = StreamPhase.Closed
    val refusal = open.refusal
    if (failure != null || refusal == null) return loseStream()
    streamRefused(refusal.with(open.refusalBody.copy()), open)
}

private fun Connection.streamRefused(answer: HttpAnswer, open: OpenStream) {
    val problem = ServerProblem.of(answer)
    // The refused credential has been replaced.
    if (open.generation != session.generation) return
    if (answer.mediaType == "text/html") return loseStream(answer.retryAfter)
    val status = answer.status
    val name = problem.name
    when {
        status == 401 && (name == "identity-expired" || name == "identity-required") -> wantIdentity(isNeeded = true)
        status == 401 || status == 404 && name == "session-not-found" -> if (!deferToSignIn()) forgetSession()
        name == "session-ended" && (status == 404 || status == 410) -> if (!deferToSignIn()) endSession()
        status == 403 && name == "forbidden" -> featureRefused(Refusal.DENIED, open.features)
        status == 404 && (name == "feature-not-found" || name == "not-found") ->
            featureRefused(Refusal.MISSING, open.features)
        status in setOf(400, 403, 405, 406) -> {
            stream.phase = StreamPhase.Failed(problem)
            commands += Command.Report("The server refuses the stream for good: $problem.")
        }
        else -> loseStream(answer.retryAfter)
    }
}

// Refused features

/**
 * Requests each feature separately after a stream of several was refused, since the answer does not tell which one. The
 * others continue.
 */
private fun Connection.featureRefused(refusal: Refusal, features: List<String>) {
    if (features.size == 1) return refuseFeature(features[0], refusal)
    stream.looked.clear()
    for (feature in features) {
        // Asks for the status of a stream of the feature, without opening it.
        start(Purpose.Look(feature), request("HEAD", "/events?feature=${escaped(feature)}"))
    }
    // Reopened when the status of all features is known, or after the usual delay.
    loseStream()
    stream.isAskedTo = true
}

private fun Connection.refuseFeature(feature: String, refusal: Refusal) {
    if (feature !in watched || stream.refused.put(feature, refusal) != null) return
    lose(feature, refusal.delivery)
}

internal fun Connection.looked(feature: String, result: Answered) {
    val refusal = when ((result as? Answered.Whole)?.answer?.status) {
        403 -> Refusal.DENIED
        404 -> Refusal.MISSING
        else -> null
    }
    if (refusal != null) stream.looked[feature] = refusal
    if (exchanges.values.any { it.purpose is Purpose.Look }) return
    val refused = stream.looked.toSortedMap()
    // HEAD answers have no body. If all are refusals, the session may be missing instead of the features. The stream of
    // one of them will tell.
    if (refused.keys.toList() == streamFeatures) refused.remove(refused.firstKey())
    for ((each, its) in refused) refuseFeature(each, its)
    retryStreamNow(includingPaused = false)
}
