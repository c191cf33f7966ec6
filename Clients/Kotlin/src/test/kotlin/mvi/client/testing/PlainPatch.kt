package mvi.client.testing

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

/** Patches in the plainest way: each operation copies the whole document. For names and indexes without escapes. */
internal object PlainPatch {
    private class Failure : Exception()

    /** Returns the document after a JSON Patch; null if an operation cannot be applied. */
    fun patched(document: JsonElement, patch: JsonArray): JsonElement? = try {
        patch.fold(document) { before, operation -> changed(before, operation.jsonObject) }
    } catch (_: Failure) {
        null
    }

    /** Returns the document after a merge patch, as in section 2 of RFC 7396. */
    fun merged(document: JsonElement?, patch: JsonElement): JsonElement {
        if (patch !is JsonObject) return patch
        val before = (document as? JsonObject).orEmpty()
        val kept = before.filterKeys { it !in patch }
        val changed = patch.filterValues { it !is JsonNull }.mapValues { (name, value) -> merged(before[name], value) }
        return JsonObject(kept + changed)
    }

    private fun changed(document: JsonElement, operation: JsonObject): JsonElement {
        val path = tokens(operation, "path")
        return when (operation.getValue("op").jsonPrimitive.content) {
            "add" -> added(document, path, operation.getValue("value"))
            "remove" -> removed(document, path)
            "replace" -> {
                read(document, path)
                if (path.isEmpty()) return operation.getValue("value")
                val last = path.last()
                edited(document, path.dropLast(1)) { parent ->
                    if (parent is JsonObject) return@edited JsonObject(parent + (last to operation.getValue("value")))
                    JsonArray(parent.jsonArray.mapIndexed { index, value ->
                        if (index == last.toInt()) operation.getValue("value") else value
                    })
                }
            }
            "copy" -> added(document, path, read(document, tokens(operation, "from")))
            "move" -> {
                val from = tokens(operation, "from")
                if (from.size < path.size && path.take(from.size) == from) throw Failure()
                val value = read(document, from)
                if (from == path) document else added(removed(document, from), path, value)
            }
            else -> if (read(document, path) == operation["value"]) document else throw Failure()
        }
    }

    private fun tokens(operation: JsonObject, name: String): List<String> =
        operation.getValue(name).jsonPrimitive.content.split('/').drop(1)

    private fun read(document: JsonElement, path: List<String>): JsonElement = path.fold(document) { value, token ->
        when (value) {
            is JsonObject -> value[token]
            is JsonArray -> token.toIntOrNull()?.let { value.getOrNull(it) }
            else -> null
        } ?: throw Failure()
    }

    private fun edited(
        document: JsonElement,
        path: List<String>,
        change: (JsonElement) -> JsonElement,
    ): JsonElement {
        val first = path.firstOrNull() ?: return change(document)
        val inner = edited(read(document, listOf(first)), path.drop(1), change)
        if (document is JsonObject) return JsonObject(document + (first to inner))
        return JsonArray(document.jsonArray.mapIndexed { index, value -> if (index == first.toInt()) inner else value })
    }

    private fun added(document: JsonElement, path: List<String>, value: JsonElement): JsonElement {
        val last = path.lastOrNull() ?: return value
        return edited(document, path.dropLast(1)) { parent ->
            when (parent) {
                is JsonObject -> JsonObject(parent + (last to value))
                is JsonArray -> {
                    val place = if (last == "-") parent.size else last.toIntOrNull() ?: throw Failure()
                    if (place !in 0..parent.size) throw Failure()
                    JsonArray(parent.take(place) + value + parent.drop(place))
                }
                else -> throw Failure()
            }
        }
    }

    private fun removed(document: JsonElement, path: List<String>): JsonElement {
        val last = path.lastOrNull() ?: throw Failure()
        read(document, path)
        return edited(document, path.dropLast(1)) { parent ->
            if (parent is JsonObject) return@edited JsonObject(parent - last)
            JsonArray(parent.jsonArray.filterIndexed { index, _ -> index != last.toInt() })
        }
    }
}
