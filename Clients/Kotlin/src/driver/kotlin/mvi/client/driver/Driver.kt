package mvi.client.driver

import java.io.File
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import java.util.UUID
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.ConcurrentSkipListSet
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonPrimitive
import mvi.client.Condition
import mvi.client.CredentialStorage
import mvi.client.DeltaFormat
import mvi.client.MemoryCredentialStorage
import mvi.client.OkHttpTransport
import mvi.client.PendingStorage
import mvi.client.RemoteServerOptions
import mvi.client.SendCompletion
import mvi.client.connection.Delivery
import mvi.client.connection.Input
import mvi.client.connection.Outcome
import mvi.client.core.ClientCore
import mvi.client.core.PendingKeeper
import mvi.client.store.StoreFeed
import mvi.client.wire.Wire
import mvi.client.wire.any
import mvi.client.wire.optionalNumber
import mvi.client.wire.optionalString
import mvi.client.wire.string

/** Runs the client for the conformance kit: commands as JSON lines in, what the client saw as JSON lines out. */
fun main() {
    var driver: Driver? = null
    for (line in generateSequence(::readLine)) {
        val command = Wire.readObject(line)
        when (val name = command.string("do")) {
            "open" -> driver = Driver(command)
            "watch" -> driver?.watch(command.string("feature"), command["labels"] != JsonPrimitive(false))
            "read" -> driver?.read(command.string("feature"))
            "unwatch" -> driver?.unwatch(command.string("feature"))
            "send" -> driver?.send(command)
            "offline" -> driver?.core?.handle(Input.Online(false))
            "online" -> driver?.core?.handle(Input.Online(true))
            "foreground" -> driver?.core?.handle(Input.Foreground)
            "close" -> {
                driver?.close()
                driver = null
            }
            else -> System.err.println("An unknown command: $name")
        }
    }
    driver?.close()
}

/** A file with one text. */
private class StoredText(private val file: File) : CredentialStorage, PendingStorage {
    override suspend fun load(): String? = if (file.exists()) file.readText() else null

    override suspend fun load(name: String): String? = load()

    override suspend fun save(credential: String?) {
        if (credential == null) file.delete() else save("", credential)
    }

    override suspend fun save(name: String, text: String) {
        val new = File("$file.new")
        new.writeText(text)
        Files.move(new.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE)
    }
}

/** A client without an app's types. */
private class Driver(command: JsonObject) {
    val core: ClientCore
    private val number: Long
    private val features = ConcurrentSkipListSet<String>()
    private val feeds = mutableMapOf<String, StoreFeed<JsonElement, JsonElement, JsonElement>>()
    private var isClosed = false

    init {
        val identities = ConcurrentLinkedQueue(
            (command["identities"] as? JsonArray).orEmpty().map { it.jsonPrimitive.content },
        )
        val identity: suspend () -> String? = { identities.poll() }
        val folder = command.optionalString("folder")?.let { File(it) }
        val options = RemoteServerOptions(
            credentials = folder?.let { StoredText(File(it, "credential")) } ?: MemoryCredentialStorage(),
            pendingStorage = folder?.let { StoredText(File(it, "pending")) },
            identity = identity.takeIf { identities.isNotEmpty() },
            delta = command.optionalString("delta")?.let { name -> DeltaFormat.entries.first { it.query == name } },
            locale = command.optionalString("locale"),
            timeZone = command.optionalString("timeZone"),
            patience = command.optionalNumber("patience")?.seconds ?: 300.seconds,
            report = { System.err.println(it) },
        )
        val settings = options.settings().copy(usesCookie = command.optionalString("credential") == "cookie")
        core = ClientCore(
            settings, OkHttpTransport(command.string("url")), options.elapsed, options.credentials, options.identity,
            { Random.nextDouble() }, options.report,
            options.pendingStorage?.let { PendingKeeper(it, "", options.report) },
            { intent, _ -> say("abandoned", "feature" to Wire.quoted(intent.feature), "intent" to intent.intent) },
        )
        number = core.number()
        core.listen { say("condition", "condition" to Wire.quoted(name(it))) }
        for (feature in (command["features"] as? JsonArray).orEmpty()) watch(feature.jsonPrimitive.content)
    }

    /** @param readsLabels false if labels wait for [read], in a store as an app's. */
    fun watch(feature: String, readsLabels: Boolean = true) {
        features += feature
        // The first label may come at once.
        if (!readsLabels) feeds[feature] = feed(feature).also { it.enter() }
        core.watch(feature, number, ClientCore.Sink({ if (readsLabels || it !is Delivery.Label) tell(feature, it) }, {}))
    }

    private fun feed(feature: String): StoreFeed<JsonElement, JsonElement, JsonElement> {
        val any = JsonElement.serializer()
        return StoreFeed(feature, core, Json, any, any, any, null, Duration.ZERO, { System.err.println(it) }, {})
    }

    fun read(feature: String) {
        val feed = feeds.getValue(feature)
        val reader = feed.labelReader()
        feed.addReader(reader)
        core.launch {
            while (reader.await()) {
                while (true) {
                    val label = reader.take()?.label ?: break
                    say("label", "feature" to Wire.quoted(feature), "label" to label.toString())
                }
            }
        }
    }

    fun unwatch(feature: String) {
        features -= feature
        feeds.remove(feature)?.leave()
        core.unwatch(feature, number)
    }

    fun send(command: JsonObject) {
        val tag = "tag" to Wire.quoted(command.string("tag"))
        val body = command.any("intent").toString()
        val key = UUID.randomUUID().toString()
        core.send(body, command.string("feature"), key, SendCompletion.COMMITTED) { outcome ->
            when (outcome) {
                is Outcome.Committed -> say("sent", tag, "version" to outcome.receipt.version.toString())
                is Outcome.Failed -> {
                    val problem = outcome.error.problem
                    val type = problem?.type?.let { Wire.quoted(it) }
                    say("refused", tag, "status" to problem?.status.toString(), "problem" to type.toString())
                }
            }
        }
    }

    private fun tell(feature: String, delivery: Delivery) {
        val named = "feature" to Wire.quoted(feature)
        when (delivery) {
            is Delivery.State ->
                say("state", named, "version" to "${delivery.version}", "state" to delivery.state.toString())
            is Delivery.Label -> say(
                "label", named, "id" to Wire.quoted(delivery.id), "replay" to "${delivery.isReplay}",
                "label" to delivery.label.toString(),
            )
            is Delivery.Presence -> {
                val json = delivery.presence?.let { "{\"count\":${it.count},\"viewers\":${JsonArray(it.shown)}}" }
                say("presence", named, "presence" to "$json")
            }
            Delivery.Ended -> say("end", named)
            Delivery.Denied, Delivery.Missing -> say("denied", named)
            Delivery.Forgotten -> {}
            // Each watched store receives the event; here it is reported once.
            is Delivery.Reset -> if (features.firstOrNull() == feature) {
                say("reset", "reason" to Wire.quoted(delivery.reason), "labelsLost" to "${delivery.labelsLost}")
            }
        }
    }

    private fun name(condition: Condition): String =
        condition::class.java.simpleName.replaceFirstChar { it.lowercase() }

    /** Ends the client. Writes `closed` as its last line. */
    fun close() {
        core.close()
        synchronized(this) {
            say("closed")
            isClosed = true
        }
    }

    /** Writes a line of members as JSON. */
    @Synchronized
    private fun say(saw: String, vararg members: Pair<String, String>) {
        if (isClosed) return
        val line = members.joinToString("", "{\"saw\":\"$saw\"", "}\n") { (name, json) -> ",\"$name\":$json" }
        System.out.write(line.encodeToByteArray())
        System.out.flush()
    }
}
