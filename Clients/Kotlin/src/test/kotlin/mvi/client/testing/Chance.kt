package mvi.client.testing

/** Numbers that a seed determines: SplitMix64. */
internal class Chance(seed: Long) {
    private var state = seed.toULong()

    fun next(): Double {
        state += 0x9E37_79B9_7F4A_7C15u
        var mixed = state
        mixed = (mixed xor (mixed shr 30)) * 0xBF58_476D_1CE4_E5B9u
        mixed = (mixed xor (mixed shr 27)) * 0x94D0_49BB_1331_11EBu
        return ((mixed xor (mixed shr 31)) shr 11).toLong().toDouble() / (1L shl 53).toDouble()
    }

    fun picks(share: Double): Boolean = next() < share

    fun below(limit: Int): Int = (next() * limit).toInt()
}
