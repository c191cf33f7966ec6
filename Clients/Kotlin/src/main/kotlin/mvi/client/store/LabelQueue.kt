package mvi.client.store

import kotlinx.coroutines.channels.Channel

/** A reader of labels. Its queue is protected by the feed's lock. */
internal class LabelReader<Label> {
    class Item<Label>(val label: Label)

    val queue = ArrayDeque<Label>()
    private val signal = Channel<Unit>(Channel.CONFLATED)

    /** Returns its next label; null if none waits. */
    fun take(): Item<Label>? = if (queue.isEmpty()) null else Item(queue.removeFirst())

    /** Tells the reader that labels wait. */
    fun wake() {
        signal.trySend(Unit)
    }

    /** Tells the reader that no more labels come. */
    fun finish() {
        signal.close()
    }

    /** Suspends until labels may wait. Returns false after the end. */
    suspend fun await(): Boolean = signal.receiveCatching().isSuccess
}

/** The labels of a store that were not collected. Protected by the feed's lock. */
internal class LabelQueue<Label> {
    val readers = mutableListOf<LabelReader<Label>>()

    /** The labels that arrived while there was no reader. */
    private val waiting = ArrayDeque<Label>()

    fun add(reader: LabelReader<Label>) {
        readers += reader
        reader.queue.addAll(waiting)
        waiting.clear()
        reader.wake()
    }

    fun remove(reader: LabelReader<Label>) {
        // What a canceled reader has not collected waits for the next one, such as that of the rotated screen.
        if (readers.remove(reader) && readers.isEmpty()) waiting.addAll(0, reader.queue)
    }

    /** Adds labels for all readers. Returns true if a label was dropped. */
    fun put(labels: List<Label>): Boolean {
        if (readers.isEmpty()) return add(labels, waiting)
        return readers.map { add(labels, it.queue) }.any { it }
    }

    private fun add(labels: List<Label>, queue: ArrayDeque<Label>): Boolean {
        queue.addAll(labels)
        val excess = queue.size - LIMIT
        repeat(excess) { queue.removeFirst() }
        return excess > 0
    }

    private companion object {
        /** The maximum number of labels that wait without a reader, and for a slow one; the oldest are dropped first. */
        const val LIMIT = 1_000
    }
}
