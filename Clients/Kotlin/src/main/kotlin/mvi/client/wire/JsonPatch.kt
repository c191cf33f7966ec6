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
        if (patch !is JsonArray) throw WireException("A JSON Patch is an array.")
        var root = document
        var copied = 0
        for (operation in patch) {
            if (operation !is JsonObject) throw WireException("An operation is not an object.")
            val path = JsonPointer(operation.string("path"))
            root = when (val name = operation.string("op")) {
                "add" -> add(root, path, operation.any("value"))
                "remove" -> remove(root, path)
                "replace" -> replace(root, path, operation.any("value"))
                "move" -> move(root, JsonPointer(operation.string("from")), path)
                "copy" -> {
                    val source = JsonPointer(operation.string("from")).valueIn(root)
                    copied += size(source)
                    // A short patch could otherwise double a document repeatedly.
                    if (copied > COPY_LIMIT) throw WireException("The patch copies more than $COPY_LIMIT values.")
                    add(root, path, source)
                }
                "test" -> {
                    if (!areEqual(path.valueIn(root), operation.any("value"))) throw WireException("A test failed.")
                    root
                }
                else -> throw WireException("The operation \"${name.take(20)}\" is unknown.")
            }
        }
        return root
    }

    private fun checkDepth(path: JsonPointer, value: JsonElement) {
        if (path.tokens.size + depth(value) > Wire.DEPTH_LIMIT) {
            throw WireException("The document would have more than ${Wire.DEPTH_LIMIT} levels.")
        }
    }

    private fun add(root: JsonElement, path: JsonPointer, value: JsonElement): JsonElement {
        checkDepth(path, value)
        if (path.tokens.isEmpty()) return value
        return path.changing(root) { parent, last ->
            when (parent) {
                is JsonObject -> JsonObject(LinkedHashMap(parent).also { it[last] = value })
                is JsonArray -> {
                    val place = if (last == "-") parent.size else JsonPointer.index(last, parent.size + 1)
                    JsonArray(parent.toMutableList().also { it.add(place, value) })
                }
                is JsonPrimitive -> throw JsonPointer.nothing(last)
            }
        }
    }

    private fun remove(root: JsonElement, path: JsonPointer): JsonElement {
        if (path.tokens.isEmpty()) throw WireException("The whole document cannot be removed.")
        return path.changing(root) { parent, last ->
            when (parent) {
                is JsonObject -> {
                    if (last !in parent) throw JsonPointer.nothing(last)
                    JsonObject(LinkedHashMap(parent).also { it.remove(last) })
                }
                is JsonArray -> {
                    val place = JsonPointer.index(last, parent.size)
                    JsonArray(parent.toMutableList().also { it.removeAt(place) })
                }
                is JsonPrimitive -> throw JsonPointer.nothing(last)
            }
        }
    }

    private fun replace(root: JsonElement, path: JsonPointer, value: JsonElement): JsonElement {
        checkDepth(path, value)
        if (path.tokens.isEmpty()) return value
        return path.changing(root) { parent, last ->
            JsonPointer.child(parent, last)
            JsonPointer.replacing(parent, last, value)
        }
    }

    private fun move(root: JsonElement, from: JsonPointer, path: JsonPointer): JsonElement {
        if (from.isAbove(path)) throw WireException("A value cannot be moved into itself.")
        val value = from.valueIn(root)
        return if (from.tokens == path.tokens) root else add(remove(root, from), path, value)
    }

    private fun depth(value: JsonElement): Int = when (value) {
        is JsonArray -> 1 + (value.maxOfOrNull { depth(it) } ?: 0)
        is JsonObject -> 1 + (value.values.maxOfOrNull { depth(it) } ?: 0)
        is JsonPrimitive -> 0
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
