package mvi.client.store

import kotlin.time.Duration
import kotlinx.coroutines.channels.Channel

/** A label, and the time until which it may be shown; null without one. */
internal class DatedLabel<Label>(val label: Label, val end: Duration?)

/** A reader of labels. Used by any thread. */
internal class LabelReader<Label>(private val now: () -> Duration) {
    private val queue = ArrayDeque<DatedLabel<Label>>()
    private val signal = Channel<Unit>(Channel.CONFLATED)

    /** Adds labels, and drops the oldest above a limit. Returns true if one was dropped. */
    fun put(labels: List<DatedLabel<Label>>, limit: Int): Boolean {
        val excess = synchronized(queue) {
            queue.addAll(labels)
            (queue.size - limit).also { excess -> repeat(excess) { queue.removeFirst() } }
        }
        signal.trySend(Unit)
        return excess > 0
    }

    /** Returns its next label that may still be shown; null if none waits. */
    fun take(): DatedLabel<Label>? = synchronized(queue) {
        val time = now()
        queue.removeAll { it.end != null && it.end <= time }
        queue.removeFirstOrNull()
    }

    fun takeAll(): List<DatedLabel<Label>> = synchronized(queue) { queue.toList().also { queue.clear() } }

    /** Suspends until labels may wait. Returns false after the end. */
    suspend fun await(): Boolean = signal.receiveCatching().isSuccess

    /** Notes that no more labels come. */
    fun finish() {
        signal.close()
    }
}

/** The labels of a store that were not collected. Used by one thread at a time. */
internal class LabelQueue<Label>(now: () -> Duration) {
    val readers = mutableListOf<LabelReader<Label>>()

    /** Holds the labels that arrive while there is no reader. */
    private val nobody = LabelReader<Label>(now)

    fun add(reader: LabelReader<Label>) {
        readers += reader
        reader.put(nobody.takeAll(), LIMIT)
    }

    fun remove(reader: LabelReader<Label>) {
        // What a canceled reader has not collected waits for the next one, such as that of the rotated screen.
        if (readers.remove(reader) && readers.isEmpty()) nobody.put(reader.takeAll(), LIMIT)
    }

    /** Adds labels for all readers. Returns true if one was dropped. */
    fun put(labels: List<DatedLabel<Label>>): Boolean {
        if (labels.isEmpty()) return false
        return readers.ifEmpty { listOf(nobody) }.map { it.put(labels, LIMIT) }.any { it }
    }

    private companion object {
        /** The maximum number of labels that wait without a reader, and for a slow one. */
        const val LIMIT = 1_000
    }
}
