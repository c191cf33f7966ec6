package mvi.client.wire

/** The id of a store: the feature, and its key for a keyed feature. */
internal object StoreId {
    private val grammar = Regex("[a-z][a-z0-9-]{0,47}(:[A-Za-z0-9._~-]{1,64})?")

    /**
     * Throws [IllegalArgumentException] for what can be no store's id. An id is a part of paths, and a key from a link
     * must not lead elsewhere.
     */
    fun check(id: String) = require(grammar.matches(id)) {
        "${Wire.quoted(id.take(120))} is no store's id, such as \"counter\" or \"order:42\": " +
            "a feature has 1 to 48 of a-z 0-9 - and begins with a letter, a key has 1 to 64 of A-Z a-z 0-9 . _ ~ -"
    }
}
