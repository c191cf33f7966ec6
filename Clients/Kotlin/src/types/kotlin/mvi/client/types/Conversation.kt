package mvi.client.types

import java.io.ByteArrayOutputStream
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import mvi.client.DeltaFormat
import mvi.client.HttpRequest
import mvi.client.OkHttpTransport
import mvi.client.RemoteError
import mvi.client.RemoteServer
import mvi.client.RemoteServerOptions
import mvi.client.SendCompletion
import mvi.client.TransportEvent
import mvi.client.connection.Delivery
import mvi.client.core.ClientCore
import mvi.client.testing.TestFailure
import mvi.client.wire.JsonPatch
import mvi.client.wire.Wire

/** Returns true if two values are the same JSON; numbers are compared by value. */
internal fun isSame(one: JsonElement, two: JsonElement): Boolean = JsonPatch.areEqual(one, two)

/** A client that shows all features of a server and sends their examples. */
internal class Conversation(url: String, private val counts: Counts) : AutoCloseable {
    private val transport = OkHttpTransport(url)
    private val server = RemoteServer(url, RemoteServerOptions(delta = DeltaFormat.JSON_PATCH))
    private val ids = generateSequence(1L) { it + 1 }.iterator()

    /** Returns the features that were shown. */
    fun run(features: List<FeatureTypes>): List<String> {
        val served = get("/features").jsonObject.getValue("features").jsonArray
            .map { it.jsonObject.getValue("id").jsonPrimitive.content }
        return features.filter { feature ->
            val description = get("/features/${feature.name}").jsonObject
            compareExamples(feature, description)
            feature.name in served && show(feature, description)
        }.map { it.name }
    }

    private fun compareExamples(feature: FeatureTypes, description: JsonObject) {
        for (example in list(description, "intents")) {
            counts.intents += 1
            counts.compare(feature.intent, example, "an intent of ${feature.name}")
        }
        for (example in list(description, "labels")) {
            counts.labels += 1
            counts.compare(feature.label, example, "a label of ${feature.name}")
        }
        description["state"]?.let { compareState(feature, it) }
    }

    private fun compareState(feature: FeatureTypes, state: JsonElement) {
        counts.states += 1
        counts.compare(feature.state, state, "a state of ${feature.name}")
    }

    /** Watches a feature and sends its examples. Returns false if it is not shown. */
    private fun show(feature: FeatureTypes, description: JsonObject): Boolean {
        val isKeyed = description["keyed"] == JsonPrimitive(true)
        val key = list(description, "exampleKeys").firstOrNull()?.jsonPrimitive?.content
        val id = if (isKeyed) "${feature.name}:$key" else feature.name
        val deliveries = LinkedBlockingQueue<Delivery>()
        val number = server.core.number()
        server.core.watch(id, number, ClientCore.Sink({ deliveries.put(it) }, {}))
        val next = { deliveries.poll(60, TimeUnit.SECONDS) ?: throw TestFailure("$id is not shown") }
        val first = generateSequence(next).first { it !is Delivery.Forgotten }
        val all = ConcurrentLinkedQueue(listOf(first))
        if (first is Delivery.State) for (example in list(description, "intents")) send(id, example)
        server.core.unwatch(id, number)
        deliveries.drainTo(all)
        for (delivery in all) {
            if (delivery is Delivery.State) compareState(feature, delivery.state)
            if (delivery is Delivery.Label) {
                counts.labels += 1
                counts.compare(feature.label, delivery.label, "a label of ${feature.name}")
            }
        }
        return first is Delivery.State
    }

    /** Sends an example and waits until the store shows it. A rule of the feature may refuse it. */
    private fun send(id: String, example: JsonElement) = runBlocking {
        try {
            server.core.sendAndWait(example.toString(), id, "${ids.next()}", SendCompletion.SHOWN, null)
            Unit
        } catch (error: RemoteError) {
            val problem = error.problem?.type.orEmpty()
            if (problem.endsWith("invalid-intent")) counts.findings += "$id refuses $example: $error"
        }
    }

    private fun list(description: JsonObject, name: String) = (description[name] as? JsonArray).orEmpty()

    private fun get(target: String): JsonElement {
        val events = LinkedBlockingQueue<TransportEvent>()
        transport.start(ids.next(), HttpRequest("GET", target)) { events.put(it) }
        val text = ByteArrayOutputStream()
        while (true) {
            when (val event = events.poll(60, TimeUnit.SECONDS)) {
                is TransportEvent.Head ->
                    if (event.answer.status != 200) throw TestFailure("$target: ${event.answer.status}")
                is TransportEvent.Piece -> text.write(event.bytes)
                is TransportEvent.End -> {
                    event.failure?.let { throw TestFailure("$target: ${it.message}") }
                    return Wire.read(text.toByteArray().decodeToString())
                }
                null -> throw TestFailure("$target is not answered")
            }
        }
    }

    override fun close() {
        server.close()
        transport.close()
    }
}
