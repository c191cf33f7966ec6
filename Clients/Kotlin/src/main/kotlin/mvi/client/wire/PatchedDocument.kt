package mvi.client.wire

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * A document while a JSON Patch changes it. A container is copied when an operation first leads into it, and never
 * again: a patch costs as much as the containers that it touches, however many operations it has. The given document
 * is not changed.
 */
internal class PatchedDocument(document: JsonElement) {
    private var root = Part(document)

    /** The number of containers that were copied. */
    var copies = 0
        private set

    /** The document after the operations so far. */
    val result: JsonElement get() = root.whole()

    /** Returns a value that later operations do not change. */
    fun value(path: JsonPointer): JsonElement = part(path.tokens).whole()

    fun add(path: JsonPointer, value: JsonElement) {
        checkDepth(path, depth(value))
        add(path, Part(value))
    }

    private fun add(path: JsonPointer, part: Part) {
        val last = path.tokens.lastOrNull() ?: return run { root = part }
        when (val parent = parent(path)) {
            is Content.Members -> parent.parts[last] = part
            is Content.Items -> {
                val count = parent.parts.size
                parent.parts.add(if (last == "-") count else JsonPointer.index(last, count + 1), part)
            }
            is Content.Whole -> throw JsonPointer.nothing(last)
        }
    }

    fun remove(path: JsonPointer) {
        take(path)
    }

    /** Removes a value and returns it. */
    private fun take(path: JsonPointer): Part {
        val last = path.tokens.lastOrNull() ?: throw WireException("The whole document cannot be removed.")
        return when (val parent = parent(path)) {
            is Content.Members -> parent.parts.remove(last) ?: throw JsonPointer.nothing(last)
            is Content.Items -> parent.parts.removeAt(JsonPointer.index(last, parent.parts.size))
            is Content.Whole -> throw JsonPointer.nothing(last)
        }
    }

    fun replace(path: JsonPointer, value: JsonElement) {
        checkDepth(path, depth(value))
        val last = path.tokens.lastOrNull() ?: return run { root = Part(value) }
        when (val parent = parent(path)) {
            is Content.Members -> {
                if (last !in parent.parts) throw JsonPointer.nothing(last)
                parent.parts[last] = Part(value)
            }
            is Content.Items -> parent.parts[JsonPointer.index(last, parent.parts.size)] = Part(value)
            is Content.Whole -> throw JsonPointer.nothing(last)
        }
    }

    fun move(from: JsonPointer, path: JsonPointer) {
        if (from.isAbove(path)) throw WireException("A value cannot be moved into itself.")
        val part = part(from.tokens)
        if (from.tokens == path.tokens) return
        // At a place that is not deeper, its depth is known to be allowed.
        if (path.tokens.size > from.tokens.size) checkDepth(path, depth(part))
        take(from)
        add(path, part)
    }

    private fun checkDepth(path: JsonPointer, depth: Int) {
        if (path.tokens.size + depth > Wire.DEPTH_LIMIT) {
            throw WireException("The document would have more than ${Wire.DEPTH_LIMIT} levels.")
        }
    }

    private fun parent(path: JsonPointer): Content = part(path.tokens.subList(0, path.tokens.lastIndex)).opened()

    private fun part(tokens: List<String>): Part = tokens.fold(root) { part, token ->
        when (val content = part.opened()) {
            is Content.Members -> content.parts[token] ?: throw JsonPointer.nothing(token)
            is Content.Items -> content.parts[JsonPointer.index(token, content.parts.size)]
            is Content.Whole -> throw JsonPointer.nothing(token)
        }
    }

    /** A value at one place of the document. */
    private inner class Part(element: JsonElement) {
        var content: Content = Content.Whole(element)
            private set

        /** Returns the parts of a container; for another value, itself. */
        fun opened(): Content {
            val whole = content as? Content.Whole ?: return content
            content = when (val element = whole.element) {
                is JsonObject -> {
                    val parts = LinkedHashMap<String, Part>(element.size * 2)
                    for ((name, value) in element) parts[name] = Part(value)
                    Content.Members(parts)
                }
                is JsonArray -> Content.Items(element.mapTo(ArrayList(element.size + 1)) { Part(it) })
                is JsonPrimitive -> return whole
            }
            copies += 1
            return content
        }

        fun whole(): JsonElement = when (val content = content) {
            is Content.Whole -> content.element
            is Content.Members -> JsonObject(content.parts.mapValues { it.value.whole() })
            is Content.Items -> JsonArray(content.parts.map { it.whole() })
        }
    }

    private sealed interface Content {
        /** A value as it came, which may be in other documents, too. */
        class Whole(val element: JsonElement) : Content

        /** The parts of an object that was copied. */
        class Members(val parts: MutableMap<String, Part>) : Content

        /** The parts of an array that was copied. */
        class Items(val parts: MutableList<Part>) : Content
    }

    private fun depth(part: Part): Int = when (val content = part.content) {
        is Content.Whole -> depth(content.element)
        is Content.Members -> 1 + (content.parts.values.maxOfOrNull { depth(it) } ?: 0)
        is Content.Items -> 1 + (content.parts.maxOfOrNull { depth(it) } ?: 0)
    }

    private fun depth(value: JsonElement): Int = when (value) {
        is JsonArray -> 1 + (value.maxOfOrNull { depth(it) } ?: 0)
        is JsonObject -> 1 + (value.values.maxOfOrNull { depth(it) } ?: 0)
        is JsonPrimitive -> 0
    }
}
