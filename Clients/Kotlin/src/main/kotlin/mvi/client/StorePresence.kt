package mvi.client

import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer

/**
 * The clients that look at a store; see [RemoteStore.presence].
 *
 * @property count their number, also of those that show nothing. One with several streams counts once.
 */
class StorePresence internal constructor(
    val count: Int,
    internal val shown: List<JsonElement>,
    private val json: Json = Json,
) {
    /**
     * Returns what at most 100 of them show, in the order in which they came. Values that do not match the type of the
     * feature's presence are left out.
     */
    inline fun <reified Viewer> viewers(): List<Viewer> = viewers(serializer<Viewer>())

    /** As above, for any serializer. */
    fun <Viewer> viewers(serializer: KSerializer<Viewer>): List<Viewer> = buildList {
        for (element in shown) {
            try {
                add(json.decodeFromJsonElement(serializer, element))
            } catch (_: IllegalArgumentException) {
                // Also of a class that checks its values.
            }
        }
    }

    /** As the option `json` of the app reads it. */
    internal fun by(json: Json) = StorePresence(count, shown, json)

    override fun equals(other: Any?) = other is StorePresence && other.count == count && other.shown == shown

    override fun hashCode() = 31 * count + shown.hashCode()
}
