package mvi.client.connection

import kotlin.time.Duration.Companion.milliseconds
import mvi.client.RemoteError
import mvi.client.ServerProblem

// Keeps waiting intents over the end of the app.

private const val FOREIGN_TEXT = "The intent was meant for a session that is not the client's any more."

/** Lets the storage have the waiting intents. An intent without a known owner is not kept. */
internal fun Connection.keepIntents() {
    if (!settings.keepsIntents || intents.isRestoring) return
    val present = session.owner
    val list = intents.queue.mapIndexedNotNull { index, intent ->
        kept(intent, intent.owner ?: present, isOut = index == 0 && intents.inFlight != null)
    }
    intents.takeKept(list)?.let { commands += Command.Keep(it) }
}

private fun kept(intent: PendingIntent, owner: IntentOwner?, isOut: Boolean = false): KeptIntent? {
    if (intent.body == null || owner == null) return null
    return KeptIntent(intent.key, intent.feature, intent.body, owner, intent.until, intent.mayHaveRun || isOut)
}

/** Enqueues intents that an earlier run of the app has kept, before those of this run. */
internal fun Connection.restore(kept: List<PendingIntent>) {
    if (!intents.isRestoring) return
    intents.isRestoring = false
    intents.noteKept(kept.mapNotNull { kept(it, it.owner) })
    commands += Command.Restore(kept)
    val error = sessionError()
    if (error != null) return kept.forEach { finish(it, Outcome.Failed(error)) }
    for (intent in kept) {
        // A clock that was set back must not make it wait for longer.
        intent.deadline = now + (intent.until - wallTime()).milliseconds.coerceAtMost(settings.patience)
    }
    intents.queue.addAll(0, kept)
}

/** Passes kept intents to the session if it is their owner, and fails the first ones if it is not. */
internal fun Connection.meetOwners() {
    val group by lazy { session.token?.let { IntentOwner.group(it) } }
    for (intent in intents.queue) {
        val owner = intent.owner ?: continue
        val isOwned = if (owner.session != null) owner.session == session.id else owner.group in setOf(null, group)
        if (isOwned) intent.owner = null
    }
    while (true) {
        val owner = intents.queue.firstOrNull()?.owner ?: return
        // The server tells it.
        if (owner.session != null && session.id == null) return
        failForeignIntents(null)
    }
}

/** Fails the intents with the first one's owner, which is not the client's session. */
internal fun Connection.failForeignIntents(problem: ServerProblem?) {
    val owner = intents.queue.first().owner
    failIntents(RemoteError.Code.SESSION_ENDED, FOREIGN_TEXT, problem) { it.owner == owner }
}
