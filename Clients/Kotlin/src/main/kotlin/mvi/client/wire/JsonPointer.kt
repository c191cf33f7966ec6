package mvi.client.wire

/** A path to a value inside a document (RFC 6901). */
internal class JsonPointer(text: String) {
    /** Names and array indexes, outermost first. */
    val tokens: List<String>

    init {
        if (text.isNotEmpty() && text[0] != '/') throw WireException("A JSON Pointer begins with '/' or is empty.")
        tokens = if (text.isEmpty()) emptyList() else text.substring(1).split('/').map { unescaped(it) }
    }

    /** Returns true if the other pointer refers to a value inside this one's value. */
    fun isAbove(other: JsonPointer): Boolean =
        tokens.size < other.tokens.size && other.tokens.subList(0, tokens.size) == tokens

    companion object {
        /** Resolves escapes (section 3): `~1` is `/`, `~0` is `~`. */
        private fun unescaped(token: String): String {
            if ('~' !in token) return token
            val text = StringBuilder()
            var index = 0
            while (index < token.length) {
                if (token[index] != '~') {
                    text.append(token[index])
                    index += 1
                    continue
                }
                when (token.getOrNull(index + 1)) {
                    '0' -> text.append('~')
                    '1' -> text.append('/')
                    else -> throw WireException("In a JSON Pointer '~' must be followed by 0 or 1.")
                }
                index += 2
            }
            return text.toString()
        }

        /** Returns an array index: digits without a leading zero (section 4). */
        fun index(token: String, count: Int): Int {
            val isNumber = token.isNotEmpty() && token.all { it in '0'..'9' } && (token.length == 1 || token[0] != '0')
            val index = if (isNumber) token.toIntOrNull() else null
            return index?.takeIf { it < count } ?: throw WireException("An array has no index '${token.take(20)}'.")
        }

        fun nothing(token: String) = WireException("There is no value at '${token.take(20)}'.")
    }
}
