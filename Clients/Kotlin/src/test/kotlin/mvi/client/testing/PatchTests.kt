package mvi.client.testing

import kotlin.random.Random
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import mvi.client.wire.JsonPatch
import mvi.client.wire.MergePatch
import mvi.client.wire.PatchedDocument
import mvi.client.wire.Wire
import mvi.client.wire.WireException

/** Documents and patches that a seed determines, small enough that their operations meet. */
private class Patches(seed: Long) {
    private val random = Random(seed)

    fun document(depth: Int = 3): JsonElement = when (random.nextInt(if (depth == 0) 2 else 6)) {
        0 -> JsonPrimitive(random.nextInt(3))
        1 -> if (random.nextBoolean()) JsonNull else JsonPrimitive("text")
        2, 3 -> JsonArray(List(random.nextInt(4)) { document(depth - 1) })
        else -> JsonObject(List(random.nextInt(4)) { name() to document(depth - 1) }.toMap())
    }

    private fun name() = "abcd"[random.nextInt(4)].toString()

    fun operations(document: JsonElement): JsonArray {
        var present = document
        return JsonArray(List(1 + random.nextInt(12)) {
            val operation = operation(present)
            // Most of the later ones can be applied, too.
            present = PlainPatch.patched(present, JsonArray(listOf(operation))) ?: present
            operation
        })
    }

    private fun operation(document: JsonElement): JsonObject {
        val op = listOf("add", "remove", "replace", "move", "copy", "copy", "test")[random.nextInt(7)]
        val isNew = op !in setOf("remove", "replace", "test")
        val members = mutableMapOf("op" to op, "path" to path(document, isNew))
        if (op == "move" || op == "copy") members["from"] = path(document, isNew = false)
        val all: Map<String, JsonElement> = members.mapValues { JsonPrimitive(it.value) }
        return JsonObject(if (op in setOf("add", "replace", "test")) all + ("value" to document(2)) else all)
    }

    /** A path to a value that is there, or to a place that may be free; sometimes to none. */
    private fun path(document: JsonElement, isNew: Boolean): String {
        val path = StringBuilder()
        var value = document
        while (random.nextInt(5) > 0) {
            val token = when (value) {
                is JsonObject -> value.keys.randomOrNull(random)
                is JsonArray -> if (value.isEmpty()) null else random.nextInt(value.size).toString()
                else -> null
            } ?: break
            path.append('/').append(token)
            value = if (value is JsonObject) value.getValue(token) else (value as JsonArray)[token.toInt()]
        }
        val isPlace = value !is JsonPrimitive && isNew || random.nextInt(20) == 0
        if (isPlace) path.append('/').append(if (value is JsonArray) listOf("-", "0", "9").random(random) else name())
        return path.toString()
    }
}

private fun patched(document: JsonElement, patch: JsonElement): JsonElement? = try {
    JsonPatch.apply(patch, document)
} catch (_: WireException) {
    null
}

private fun board(count: Int) =
    Wire.readObject((0 until count).joinToString(",", "{", "}") { """"item-$it":{"done":false,"votes":$it}""" })

private val seeds = 1L..20_000L

internal fun patchTests(): List<Test> = listOf(
    Test("a JSON Patch copies each container that it changes once, however many operations it has") {
        val count = 4_000
        val marks = (0 until count).map { """{"op":"replace","path":"/item-$it/done","value":true}""" }
        val votes = (0 until count).map { """{"op":"add","path":"/item-$it/votes","value":0}""" }
        val document = PatchedDocument(board(count))
        JsonPatch.perform(Wire.read((marks + votes).joinToString(",", "[", "]")), document)
        requireEqual(document.copies, 1 + count, "the copies")
        val expected = (0 until count).joinToString(",", "{", "}") { """"item-$it":{"done":true,"votes":0}""" }
        requireEqual(document.result.toString(), expected, "the document")
    },
    Test("a JSON Patch for one item shares the others with the former document") {
        val before = board(3)
        val after = patched(before, Wire.read("""[{"op":"remove","path":"/item-1/done"}]"""))?.jsonObject.orEmpty()
        requireEqual(after.map { (name, item) -> item === before[name] }, listOf(true, false, true), "shared")
    },
    Test("a value that a JSON Patch copies changes at one place only") {
        val patch = """[
            {"op":"replace","path":"/a/n","value":2},{"op":"copy","from":"/a","path":"/b"},
            {"op":"replace","path":"/a/n","value":3},{"op":"add","path":"/b/l/-","value":4},
            {"op":"copy","from":"","path":"/c"},{"op":"remove","path":"/c/b/l/0"}]"""
        val after = patched(Wire.read("""{"a":{"n":1,"l":[1]}}"""), Wire.read(patch))
        val (a, b) = """{"n":3,"l":[1]}""" to """{"n":2,"l":[1,4]}"""
        val c = """{"a":{"n":3,"l":[1]},"b":{"n":2,"l":[4]}}"""
        requireEqual(after.toString(), """{"a":$a,"b":$b,"c":$c}""")
    },
    Test("random JSON Patches have the results of the plainest way, and change no argument") {
        var (applied, failed) = 0 to 0
        for (seed in seeds) {
            val patches = Patches(seed)
            val document = patches.document()
            val patch = patches.operations(document)
            val (before, operations) = document.toString() to patch.toString()
            val result = patched(document, patch)
            requireEqual(result, PlainPatch.patched(document, patch), "seed $seed, $before after $operations")
            requireEqual(document.toString() to patch.toString(), before to operations, "seed $seed, the arguments")
            if (result == null) failed += 1 else applied += 1
        }
        require(minOf(applied, failed) > 2_000) { "$applied of the patches can be applied, $failed cannot" }
    },
    Test("random merge patches have the results of the plainest way, and change no argument") {
        for (seed in seeds) {
            val patches = Patches(seed)
            val (document, patch) = patches.document() to patches.document()
            val (before, change) = document.toString() to patch.toString()
            val result = MergePatch.apply(patch, document)
            requireEqual(result, PlainPatch.merged(document, patch), "seed $seed, $before after $change")
            requireEqual(document.toString() to patch.toString(), before to change, "seed $seed, the arguments")
        }
    },
    Test("a merge patch of 100,000 items ends, and shares what it does not change") {
        val document = board(100_000)
        val names = document.keys.drop(1)
        val patch = Wire.read(names.joinToString(",", "{", "}") { """"$it":{"done":true}""" })
        val after = MergePatch.apply(patch, document).jsonObject
        require(after.getValue("item-0") === document["item-0"]) { "it is not shared" }
        requireEqual(after.values.count { it.jsonObject["done"] == JsonPrimitive(true) }, 99_999, "the changed items")
    },
)
