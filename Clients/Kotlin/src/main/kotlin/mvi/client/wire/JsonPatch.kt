package mvi.client.wire

import java.math.BigDecimal
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** JSON Patch (RFC 6902): a list of operations that change a document. */
internal object JsonPatch {
    /** The maximum number of values that the `copy` operations of a patch may add. */
    private const val COPY_LIMIT = 1_000_000

    /**
     * Returns the document after a patch. All six operations are supported. Throws [WireException] if the patch is
     * invalid or one of its operations cannot be applied.
     */
    fun apply(patch: JsonElement, document: JsonElement): JsonElement {
        val patched = PatchedDocument(document)
        perform(patch, patched)
        return patched.result
    }

    /** Performs the operations of a patch, up to one that cannot be applied. */
    fun perform(patch: JsonElement, document: PatchedDocument) {
        if (patch !is JsonArray) throw WireException("A JSON Patch is an array.")
        var copied = 0
        for (operation in patch) {
            if (operation !is JsonObject) throw WireException("An operation is not an object.")
            val path = JsonPointer(operation.string("path"))
            when (val name = operation.string("op")) {
                "add" -> document.add(path, operation.any("value"))
                "remove" -> document.remove(path)
                "replace" -> document.replace(path, operation.any("value"))
                "move" -> document.move(JsonPointer(operation.string("from")), path)
                "copy" -> {
                    val source = document.value(JsonPointer(operation.string("from")))
                    copied += size(source)
                    // A short patch could otherwise double a document repeatedly.
                    if (copied > COPY_LIMIT) throw WireException("The patch copies more than $COPY_LIMIT values.")
                    document.add(path, source)
                }
                "test" ->
                    if (!areEqual(document.value(path), operation.any("value"))) throw WireException("A test failed.")
                else -> throw WireException("The operation \"${name.take(20)}\" is unknown.")
            }
        }
    }

    private fun size(value: JsonElement): Int = when (value) {
        is JsonArray -> value.fold(1) { sum, element -> sum + size(element) }
        is JsonObject -> value.values.fold(1) { sum, element -> sum + size(element) }
        is JsonPrimitive -> 1
    }

    /** Compares two values (section 4.6): the order of members is ignored, and numbers are compared by value. */
    fun areEqual(one: JsonElement, two: JsonElement): Boolean = when {
        one is JsonArray && two is JsonArray -> one.size == two.size && one.indices.all { areEqual(one[it], two[it]) }
        one is JsonObject && two is JsonObject -> one.size == two.size && one.all { (name, value) ->
            two[name]?.let { areEqual(value, it) } ?: false
        }
        one is JsonPrimitive && two is JsonPrimitive -> when {
            one.isString != two.isString -> false
            one.content == two.content -> true
            one.isString -> false
            else -> isSameNumber(one.content, two.content)
        }
        else -> false
    }

    private fun isSameNumber(one: String, two: String): Boolean {
        val first = one.toBigDecimalOrNull() ?: return false
        val second: BigDecimal = two.toBigDecimalOrNull() ?: return false
        return first.compareTo(second) == 0
    }
}
