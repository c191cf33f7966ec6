package mvi.client.wire

/** A growing array of bytes. */
internal class Bytes {
    private var array = ByteArray(256)
    var size = 0
        private set

    operator fun get(index: Int): Byte = array[index]

    fun add(byte: Byte) {
        reserve(1)
        array[size] = byte
        size += 1
    }

    fun add(bytes: ByteArray) {
        reserve(bytes.size)
        bytes.copyInto(array, size)
        size += bytes.size
    }

    /** Adds the bytes of another one from an index on. */
    fun add(other: Bytes, from: Int) {
        reserve(other.size - from)
        other.array.copyInto(array, size, from, other.size)
        size += other.size - from
    }

    fun indexOf(byte: Byte): Int {
        for (index in 0 until size) if (array[index] == byte) return index
        return -1
    }

    /** Returns UTF-8 as text; invalid bytes become U+FFFD. */
    fun text(start: Int, end: Int): String = array.decodeToString(start, end)

    fun copy(): ByteArray = array.copyOf(size)

    /** Removes all bytes, and memory that only a large event needed. */
    fun clear() {
        size = 0
        if (array.size > 1 shl 16) array = ByteArray(256)
    }

    private fun reserve(count: Int) {
        if (size + count > array.size) array = array.copyOf(maxOf(array.size * 2, size + count))
    }
}
