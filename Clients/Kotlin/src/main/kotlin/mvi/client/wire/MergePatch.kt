package mvi.client.wire

import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject

/** JSON Merge Patch (RFC 7396): an object with the members that are new or changed, and `null` for removed ones. */
internal object MergePatch {
    /** Returns the document after a patch (section 2). Each JSON value is a valid merge patch. */
    fun apply(patch: JsonElement, document: JsonElement?): JsonElement {
        if (patch !is JsonObject) return patch
        val members = LinkedHashMap<String, JsonElement>((document as? JsonObject).orEmpty())
        for ((name, change) in patch) {
            if (change is JsonNull) members.remove(name) else members[name] = apply(change, members[name])
        }
        return JsonObject(members)
    }
}
