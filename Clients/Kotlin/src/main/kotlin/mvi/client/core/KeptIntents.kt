package mvi.client.core

import mvi.client.RemoteError
import mvi.client.WaitingIntent
import mvi.client.connection.Outcome
import mvi.client.connection.PendingIntent
import mvi.client.connection.Progress

/**
 * The intents that an earlier run of the app has kept, until their results, and the stores that predict them.
 *
 * Used by the thread that performs commands.
 *
 * @param mayHaveRun returns whether the server may have run an intent.
 */
internal class KeptIntents(
    private val mayHaveRun: (PendingIntent) -> Boolean,
    private val abandoned: (WaitingIntent, RemoteError) -> Unit,
) {
    /** A store that predicts intents. */
    interface Reader {
        /** Shows intents that are older than those that were sent before. */
        fun resume(intents: List<Resumed>)

        fun note(progress: Progress, key: String)

        /** Forgets an intent that failed. */
        fun dismiss(key: String)
    }

    /** An intent for a reader. */
    class Resumed(val body: String, val key: String, val mayHaveRun: Boolean)

    private class Entry(val intent: PendingIntent) {
        /** True if its attempt is in flight. */
        var isOut = false
    }

    private val entries = LinkedHashMap<Long, Entry>()
    private val readers = HashMap<String, MutableList<Reader>>()
    private var isRestored = false

    fun restore(intents: List<PendingIntent>) {
        isRestored = true
        for (intent in intents) entries[intent.id] = Entry(intent)
        for ((feature, all) in readers) all.forEach { resume(it, feature) }
        if (entries.isEmpty()) readers.clear()
    }

    /** Adds a store, which may come later than the intents. */
    fun add(reader: Reader, feature: String) {
        if (isRestored && entries.isEmpty()) return
        readers.getOrPut(feature) { mutableListOf() } += reader
        resume(reader, feature)
    }

    private fun resume(reader: Reader, feature: String) {
        val its = entries.values.filter { it.intent.feature == feature }
        if (its.isEmpty()) return
        reader.resume(its.map { Resumed(it.intent.body.orEmpty(), it.intent.key, mayHaveRun(it.intent)) })
        for (entry in its) if (entry.isOut) reader.note(Progress.Sent, entry.intent.key)
    }

    fun note(progress: Progress, intent: PendingIntent) {
        entries[intent.id]?.isOut = progress == Progress.Sent
        readers[intent.feature]?.forEach { it.note(progress, intent.key) }
    }

    fun finish(outcome: Outcome, intent: PendingIntent) {
        entries.remove(intent.id)
        if (outcome is Outcome.Failed) {
            // The screens of this session's user do not show another's.
            if (outcome.error.code == RemoteError.Code.SESSION_ENDED) {
                readers[intent.feature]?.forEach { it.dismiss(intent.key) }
            }
            // What a closed client leaves is kept again.
            val shown = intent.shown
            if (shown != null && outcome.error.code != RemoteError.Code.CLOSED) abandoned(shown, outcome.error)
        }
        if (entries.isEmpty()) readers.clear()
    }
}
