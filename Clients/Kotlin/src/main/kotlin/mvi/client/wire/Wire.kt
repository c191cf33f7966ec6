package mvi.client.wire

import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** The error of JSON that is malformed or has other members than expected. */
internal class WireException(message: String) : Exception(message)

/** Reads JSON strictly. */
internal object Wire {
    /** The maximum number of nested arrays and objects. */
    const val DEPTH_LIMIT = 512

    private val number = Regex("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")

    /** Reads a JSON text (RFC 8259). Numbers keep their text. */
    fun read(text: String): JsonElement {
        // The parser recurses, so that the depth must be known before.
        checkDepth(text)
        val element = try {
            Json.parseToJsonElement(text)
        } catch (error: SerializationException) {
            throw WireException("The text is not JSON: ${error.message?.lineSequence()?.first()?.take(100)}")
        }
        check(element)
        return element
    }

    fun readObject(text: String): JsonObject =
        read(text) as? JsonObject ?: throw WireException("The text is not a JSON object.")

    private fun checkDepth(text: String) {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for (character in text) {
            when {
                isEscaped -> isEscaped = false
                isInString -> {
                    isEscaped = character == '\\'
                    isInString = character != '"'
                }
                character == '"' -> isInString = true
                character == '[' || character == '{' -> {
                    depth += 1
                    if (depth > DEPTH_LIMIT) throw WireException("The text has more than $DEPTH_LIMIT levels.")
                }
                character == ']' || character == '}' -> depth -= 1
            }
        }
    }

    /** Refuses bare words, which the parser takes for literals. */
    private fun check(element: JsonElement) {
        when (element) {
            is JsonArray -> element.forEach { check(it) }
            is JsonObject -> element.values.forEach { check(it) }
            is JsonPrimitive -> if (!element.isString) checkLiteral(element)
        }
    }

    private fun checkLiteral(literal: JsonPrimitive) {
        if (literal is JsonNull || literal.content == "true" || literal.content == "false") return
        if (!number.matches(literal.content)) throw WireException("The text has a word that is not JSON.")
    }

    /** Returns a string as a JSON text. */
    fun quoted(text: String): String = JsonPrimitive(text).toString()
}

internal fun JsonObject.optionalString(name: String): String? = when (val value = this[name]) {
    null, JsonNull -> null
    is JsonPrimitive -> if (value.isString) value.content else throw mistyped(name, "a string")
    else -> throw mistyped(name, "a string")
}

internal fun JsonObject.string(name: String): String = optionalString(name) ?: throw mistyped(name, "a string")

internal fun JsonObject.optionalVersion(name: String): Long? {
    val value = this[name] ?: return null
    if (value is JsonNull) return null
    val literal = value as? JsonPrimitive
    val version = if (literal == null || literal.isString) null else literal.content.toLongOrNull()
    return version?.takeIf { it >= 0 } ?: throw mistyped(name, "a version")
}

internal fun JsonObject.version(name: String): Long = optionalVersion(name) ?: throw mistyped(name, "a version")

internal fun JsonObject.optionalNumber(name: String): Double? {
    val value = this[name] ?: return null
    if (value is JsonNull) return null
    val literal = value as? JsonPrimitive
    val number = if (literal == null || literal.isString) null else literal.content.toDoubleOrNull()
    return number ?: throw mistyped(name, "a number")
}

internal fun JsonObject.optionalBoolean(name: String): Boolean? {
    val value = this[name] ?: return null
    if (value is JsonNull) return null
    val literal = value as? JsonPrimitive
    val flag = if (literal == null || literal.isString) null else literal.content.toBooleanStrictOrNull()
    return flag ?: throw mistyped(name, "true or false")
}

internal fun JsonObject.count(name: String): Int =
    version(name).toInt().takeIf { it.toLong() == version(name) } ?: throw mistyped(name, "a count")

internal fun JsonObject.array(name: String): JsonArray = this[name] as? JsonArray ?: throw mistyped(name, "an array")

/** Returns a member of any type. */
internal fun JsonObject.any(name: String): JsonElement = this[name] ?: throw WireException("\"$name\" is missing.")

private fun mistyped(name: String, type: String) = WireException("\"$name\" is missing or not $type.")
