package mvi.client.connection

import java.security.MessageDigest
import kotlinx.serialization.Serializable
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.Json
import mvi.client.wire.StoreId

/**
 * The owner of a kept intent: a session by its id; while that is unknown, the session of a credential by its group;
 * with neither, the session that will be created.
 */
@Serializable
internal data class IntentOwner(val session: String? = null, val group: String? = null) {
    companion object {
        /** Returns the group of a credential: a hash that does not give the credential back. */
        fun group(credential: String): String = MessageDigest.getInstance("SHA-256")
            .digest(credential.encodeToByteArray()).take(8).joinToString("") { "%02x".format(it) }
    }
}

/**
 * A waiting intent as a `PendingStorage` has it.
 *
 * @property body the intent as JSON.
 * @property until the time at which it is abandoned, in milliseconds since 1970.
 */
@Serializable
internal data class KeptIntent(
    val key: String,
    val feature: String,
    val body: String,
    val owner: IntentOwner,
    val until: Long,
    val mayHaveRun: Boolean,
) {
    companion object {
        private val json = Json { ignoreUnknownKeys = true }
        private val key = Regex("[!#-\\[\\]-~]{1,255}")

        fun write(all: List<KeptIntent>): String = json.encodeToString(ListSerializer(serializer()), all)

        /** Reads a list. Throws [IllegalArgumentException] for a text that is none. */
        fun read(text: String): List<KeptIntent> = json.decodeFromString(ListSerializer(serializer()), text).onEach {
            StoreId.check(it.feature)
            require(key.matches(it.key)) { "A key of the kept intents is none." }
        }
    }
}
