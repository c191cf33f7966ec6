package mvi.client.connection

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import mvi.client.DeltaFormat
import mvi.client.StorePresence
import mvi.client.wire.JsonPatch
import mvi.client.wire.MergePatch
import mvi.client.wire.ParsedEvent
import mvi.client.wire.Wire
import mvi.client.wire.WireException
import mvi.client.wire.any
import mvi.client.wire.array
import mvi.client.wire.count
import mvi.client.wire.optionalBoolean
import mvi.client.wire.optionalNumber
import mvi.client.wire.optionalString
import mvi.client.wire.string
import mvi.client.wire.version

// Processes the stream's events.

private class Hello(members: JsonObject) {
    val session = members.string("session")
    val epoch = members.string("epoch")
    val heartbeat = members.optionalNumber("heartbeat")
}

private class StateEvent(members: JsonObject) {
    val feature = members.string("feature")
    val version = members.version("version")
    val intent = members.optionalString("intent")
    val state = members.any("state")
}

private class PatchEvent(members: JsonObject) {
    val feature = members.string("feature")
    val from = members.version("from")
    val to = members.version("to")
    val intent = members.optionalString("intent")
    val patch = members.any("patch")
}

private class LabelEvent(members: JsonObject, now: Duration) {
    val feature = members.string("feature")
    val label = Delivery.Label(
        id = members.string("id"), version = members.version("version"), intent = members.optionalString("intent"),
        isReplay = members.optionalBoolean("replay") ?: false, label = members.any("label"),
        end = members.optionalNumber("expiresIn")?.let { now + it.seconds },
    )
}

private class PresenceEvent(members: JsonObject) {
    val feature = members.string("feature")
    val presence = StorePresence(members.count("count"), members.array("viewers"))
}

private class GoAway(members: JsonObject) {
    val reason = members.string("reason")
    val retry = members.optionalNumber("retry")
}

internal fun Connection.deliver(feature: String, delivery: Delivery) {
    commands += Command.Deliver(feature, delivery)
}

/** Processes an event. Unknown events are ignored. */
internal fun Connection.take(event: ParsedEvent) {
    try {
        when (event.name) {
            "hello" -> greet(Hello(Wire.readObject(event.data)))
            "state" -> show(StateEvent(Wire.readObject(event.data)))
            "patch" -> patch(PatchEvent(Wire.readObject(event.data)))
            "label" -> hand(LabelEvent(Wire.readObject(event.data), now))
            "presence" -> see(PresenceEvent(Wire.readObject(event.data)))
            "end" -> lose(Wire.readObject(event.data).string("feature"), Delivery.Ended)
            "denied" -> lose(Wire.readObject(event.data).string("feature"), Delivery.Denied)
            "reset" -> {
                val members = Wire.readObject(event.data)
                val reset = Delivery.Reset(members.string("reason"), members.optionalBoolean("labelsLost") ?: true)
                endShownWaits { true }
                for (feature in watched) deliver(feature, reset)
            }
            "identity" -> wantIdentity(isNeeded = false)
            "goaway" -> goAway(GoAway(Wire.readObject(event.data)))
        }
    } catch (error: WireException) {
        commands += Command.Report("An event \"${event.name}\" of the stream cannot be read: ${error.message}")
        loseStream()
    }
}

/** Ends what is known of a store. */
internal fun Connection.lose(feature: String, delivery: Delivery) {
    endShownWaits { it.intent.feature == feature }
    if (feature !in watched) return
    deliver(feature, delivery)
    see(null, feature)
}

private fun Connection.see(event: PresenceEvent) {
    if (event.feature in watched) see(event.presence, event.feature)
}

private fun Connection.see(presence: StorePresence?, feature: String) {
    if (stream.presences[feature] == presence) return
    if (presence == null) stream.presences.remove(feature) else stream.presences[feature] = presence
    deliver(feature, Delivery.Presence(presence))
}

internal fun Connection.forgetPresences() {
    for (feature in stream.presences.keys.toList()) see(null, feature)
}

private fun Connection.greet(hello: Hello) {
    val open = stream.open ?: return
    if (session.id != null && session.id != hello.session) {
        if (!settings.usesCookie) {
            // A token is of one session, so this is not its stream: a proxy may have mixed up answers.
            commands += Command.Report("A stream of another session is left.")
            return loseStream()
        }
        failIntentsOfOtherSession()
    }
    val isSame = hello.session == session.id
    if (!isSame || hello.epoch != session.epoch) forgetLog(keepsPresences = isSame)
    session.id = hello.session
    session.epoch = hello.epoch
    sessionWasTaken()
    stream.attempts = 0
    hello.heartbeat?.let { if (it > 0) open.heartbeat = minOf(it, 3_600.0).seconds }
    open.isLive = true
    open.shown.clear()
    // The server is reachable again, so intents are retried at once.
    intents.retryNow(now)
}

private fun Connection.show(event: StateEvent) {
    val open = stream.open ?: return
    if (event.feature !in watched) return
    val shown = stream.shown[event.feature]
    if (event.feature in open.shown && shown != null && event.version < shown.version) return
    open.shown += event.feature
    show(event.version, event.intent, event.state, event.feature)
}

private fun Connection.show(version: Long, intent: String?, state: JsonElement, feature: String) {
    stream.shown[feature] = Shown(version, state)
    deliver(feature, Delivery.State(version, intent, state))
    endShownWaits { it.intent.feature == feature && it.receipt.version <= version }
}

private fun Connection.patch(event: PatchEvent) {
    val open = stream.open ?: return
    if (event.feature !in watched) return
    val state = patched(event, open)
    if (state == null) {
        // Each stream begins with whole states, so a new one repairs any error.
        stream.failedPatches += 1
        commands += Command.Report("A patch of \"${event.feature}\" cannot be applied; the stream is reopened.")
        return closeStream()
    }
    stream.failedPatches = 0
    show(event.to, event.intent, state, event.feature)
}

/** Returns the state after a patch; null if it cannot be applied completely. */
private fun Connection.patched(event: PatchEvent, open: OpenStream): JsonElement? {
    val shown = stream.shown[event.feature] ?: return null
    if (!open.asksForPatches || event.feature !in open.shown) return null
    if (event.to < event.from || shown.version != event.from) return null
    return try {
        when (settings.delta) {
            DeltaFormat.JSON_PATCH -> JsonPatch.apply(event.patch, shown.state)
            DeltaFormat.MERGE_PATCH -> MergePatch.apply(event.patch, shown.state)
            null -> null
        }
    } catch (_: WireException) {
        null
    }
}

private fun Connection.hand(event: LabelEvent) {
    if (stream.seen.add(event.label.id) && event.feature in watched) deliver(event.feature, event.label)
}

private fun Connection.goAway(event: GoAway) {
    val generation = stream.open?.generation
    closeStream()
    when (event.reason) {
        "superseded" -> stream.phase = StreamPhase.Paused
        "ended" -> endSession()
        "expired" -> forgetSession()
        // After a sign-in, the streams of the old credential end when the new one is already in use.
        "identity" -> if (generation == session.generation) wantIdentity(isNeeded = true)
        else -> {
            val retry = event.retry?.coerceIn(0.0, 86_400_000.0)?.milliseconds ?: stream.retryBase
            stream.phase = StreamPhase.Waiting(now + pace.asked(retry))
            stream.isAskedTo = true
        }
    }
}
