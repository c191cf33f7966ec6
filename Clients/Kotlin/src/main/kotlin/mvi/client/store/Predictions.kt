package mvi.client.store

import kotlin.time.Duration.Companion.seconds
import mvi.client.PredictionStatus
import mvi.client.RemoteError
import mvi.client.connection.Progress

/**
 * The confirmed state of a store, and the predictions of its pending intents.
 *
 * While a predicted intent is sent and has no answer (it is in doubt), a state may have its effect or not. The newest
 * such state is held, with the labels after it, until the answer, for a second at most.
 *
 * @param predict returns the state that the server is expected to make. A prediction that throws is skipped.
 */
internal class Predictions<State : Any, Intent, Label>(private val predict: ((State, Intent) -> State)?) {
    data class Entry<Intent>(
        val key: String,
        val intent: Intent,
        /** The intent as JSON, to send it again. */
        val body: String,
        val status: PredictionStatus = PredictionStatus.SENDING,
        val error: RemoteError? = null,
        val isShown: Boolean = false,
        val isInDoubt: Boolean = false,
        /** True if an attempt had no answer: the confirmed state may have it already. */
        val isLost: Boolean = false,
        /** True if its store has ended: its effect is in no state. */
        val isDropped: Boolean = false,
        /** The version of the answer. */
        val version: Long? = null,
    )

    private class Held<State, Label>(
        val version: Long,
        val intent: String?,
        val state: State,
        val labels: MutableList<Label>,
    )

    var confirmed: State? = null
        private set
    var version: Long? = null
        private set
    var entries: List<Entry<Intent>> = emptyList()
        private set

    /** The confirmed state with the predictions. */
    var shown: State? = null
        private set

    /** True from the end of the store, or the denial of access, to the next state. */
    private var isOver = false

    /** The labels that can be delivered. */
    private var labels = mutableListOf<Label>()

    /** True if the last confirmed prediction differs from the server's state. */
    var isMispredicted = false

    private var held: Held<State, Label>? = null

    /** The number of states that were held in place of none. */
    var holdNumber = 0
        private set

    val isHolding: Boolean get() = held != null

    fun takeLabels(): List<Label> = labels.also { labels = mutableListOf() }

    // Intents

    /** Shows an intent. Returns false if it is not predicted. */
    fun add(intent: Intent, body: String, key: String): Boolean {
        if (predict == null) return false
        val oldest = entries.firstOrNull { it.status == PredictionStatus.FAILED }
        if (entries.size >= LIMIT && oldest != null) entries = entries - oldest
        if (entries.size >= LIMIT) return false
        begin(Entry(key, intent, body))
        return true
    }

    /** Shows intents that an earlier run of the app has kept: they are older than the others. */
    fun resume(kept: List<Entry<Intent>>) {
        val isShown = confirmed != null && !isOver
        val known = kept.take(LIMIT - entries.size).map { it.copy(isShown = isShown && !it.isLost) }
        entries = known + entries
        fold()
    }

    private fun begin(entry: Entry<Intent>) {
        val next = entry.copy(
            status = PredictionStatus.SENDING, error = null, isDropped = false,
            isShown = confirmed != null && !isOver && !entry.isLost,
        )
        entries = entries.filter { it.key != entry.key } + next
        fold()
    }

    /** Shows a failed intent again. Returns its body; null if there is no such intent. */
    fun retry(key: String): String? {
        val entry = entries.firstOrNull { it.key == key && it.status == PredictionStatus.FAILED } ?: return null
        begin(entry)
        return entry.body
    }

    fun dismiss(key: String) {
        entries = entries.filterNot { it.key == key && it.status == PredictionStatus.FAILED }
    }

    fun note(progress: Progress, key: String) = change(key) { entry ->
        when (progress) {
            Progress.Sent -> entry.copy(isLost = entry.isLost || entry.isInDoubt, isInDoubt = true)
            Progress.Unsent -> entry.copy(isInDoubt = false)
            is Progress.Answered -> entry.copy(
                status = PredictionStatus.SENT, isInDoubt = false, version = progress.version ?: 0,
                // A suspended one is shown until its state comes, unless the shown state is another log's.
                isShown = entry.isShown || (version != null && !isOver && !entry.isDropped),
            )
            is Progress.Failed -> failed(entry, progress.error)
            Progress.Canceled -> failed(entry, RemoteError(RemoteError.Code.CLOSED, "Its caller was canceled."))
        }
    }

    /** The entry as failed, unless it was answered: then only its caller waits no more. */
    private fun failed(entry: Entry<Intent>, error: RemoteError): Entry<Intent> =
        if (entry.status == PredictionStatus.SENT) entry else entry.copy(
            status = PredictionStatus.FAILED, error = error, isInDoubt = false, isShown = false,
            isLost = entry.isLost || error.mayHaveRun,
        )

    private fun change(key: String, change: (Entry<Intent>) -> Entry<Intent>) {
        val changed = change(entries.firstOrNull { it.key == key } ?: return)
        entries = entries.map { if (it.key == key) changed else it }
        if (changed.isInDoubt) return
        if (doubtful() == null) take()
        entries = entries.filterNot { isBelow(it.version, if (isOver) Long.MAX_VALUE else version ?: 0) }
        fold()
    }

    // The stream

    private fun doubtful(): Entry<Intent>? = entries.firstOrNull { it.isInDoubt && it.isShown }

    fun show(state: State, version: Long, intent: String?) {
        val isNewer = this.version?.let { version > it } ?: true
        val wasHolding = isHolding
        held = Held(version, intent, state, held?.labels ?: mutableListOf())
        // No later intent was sent before an answer with exactly this version.
        val isAnswered = entries.any { it.version == version }
        val doubtful = doubtful()
        if (doubtful != null && isNewer && intent != doubtful.key && !isAnswered) {
            if (!wasHolding) holdNumber += 1
            return
        }
        take()
        fold()
    }

    fun deliver(label: Label) {
        (held?.labels ?: labels).add(label)
    }

    /** Takes a state that was held too long without the intents in doubt; they are shown again after their answers. */
    fun suspend(hold: Int) {
        if (isHolding && hold == holdNumber) suspend()
    }

    private fun suspend() {
        entries = entries.map { if (it.isInDoubt) it.copy(isShown = false) else it }
        take()
        fold()
    }

    private fun take() {
        val taken = held ?: return
        held = null
        val before = confirmed
        val isKnown = version != null
        confirmed = taken.state
        version = taken.version
        isOver = false
        if (before == null) {
            entries = entries.map {
                // The first state may have a lost one already.
                val isClear = !it.isInDoubt && !it.isLost && !it.isDropped
                it.copy(isShown = isClear && it.status != PredictionStatus.FAILED)
            }
        }
        val isConfirmed = { entry: Entry<Intent> ->
            entry.key == taken.intent || isBelow(entry.version, taken.version)
        }
        val last = entries.lastOrNull(isConfirmed)
        if (before != null && isKnown && last != null && last.isShown) {
            val isExact = last.key == taken.intent || last.version == taken.version
            if (isExact && folded(before, entries.filter(isConfirmed)) != taken.state) isMispredicted = true
        }
        entries = entries.filterNot(isConfirmed)
        labels.addAll(taken.labels)
    }

    /**
     * Drops what belongs to another stream than the next states: the held state and the versions of answers. If it
     * belongs to another log or session as well, failed intents do not concern that.
     */
    fun reset(forgetsVersion: Boolean = false) {
        held?.let { labels.addAll(it.labels) }
        held = null
        entries = entries.filterNot {
            it.status == PredictionStatus.SENT || forgetsVersion && it.status == PredictionStatus.FAILED
        }
        if (forgetsVersion) version = null
        fold()
    }

    /** The store is gone, or may not be seen: nothing is predicted until its next state. */
    fun end() {
        isOver = true
        entries = entries.map { it.copy(isShown = false, isDropped = true) }
        reset()
    }

    /** The store is not watched, so that no event confirms anything. */
    fun unwatched() {
        if (isHolding) suspend()
        reset()
    }

    // Folding

    private fun fold() {
        shown = confirmed?.let { folded(it, entries) }
    }

    private fun folded(state: State, entries: List<Entry<Intent>>): State =
        entries.filter { it.isShown }.fold(state) { before, entry ->
            try {
                predict?.invoke(before, entry.intent) ?: before
            } catch (_: Exception) {
                before
            }
        }

    companion object {
        /** The maximum number of pending intents of a store; further ones are sent without a prediction. */
        const val LIMIT = 100

        /** The longest time for which a state is held. */
        val DOUBT_LIMIT = 1.seconds

        private fun isBelow(version: Long?, limit: Long) = version != null && version <= limit
    }
}
