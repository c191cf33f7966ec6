package mvi.client.types

import java.io.File
import java.util.concurrent.TimeUnit
import java.util.jar.JarFile
import kotlin.system.exitProcess
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.serializer
import mvi.client.testing.TestFailure

/**
 * The types of a feature that a server made, found by the names that it gives them.
 *
 * @param container the object of the feature.
 */
internal class FeatureTypes(container: Class<*>) {
    val name = container.getField("NAME").get(null) as String
    val state = serializer(container, "State")
    val intent = serializer(container, "Intent")
    val label = serializer(container, "Label")

    private fun serializer(container: Class<*>, name: String): KSerializer<Any> =
        serializer(container.classes.first { it.simpleName == name })

    companion object {
        /** Returns the features of a jar with made types. */
        fun of(jar: String): List<FeatureTypes> = JarFile(jar).use { file ->
            file.entries().asSequence().map { it.name }.filter { it.endsWith(".class") && '$' !in it }
                .map { Class.forName(it.removeSuffix(".class").replace('/', '.')) }
                .filter { type -> type.fields.any { it.name == "NAME" } }.map { FeatureTypes(it) }.toList()
        }
    }
}

/** What was compared. */
internal class Counts {
    var intents = 0
    var labels = 0
    var states = 0
    val findings = mutableListOf<String>()

    /** Decodes a value and encodes it again: the JSON must stay. */
    fun <Value> compare(serializer: KSerializer<Value>, element: JsonElement, what: String) {
        val again = try {
            mviJson.encodeToJsonElement(serializer, mviJson.decodeFromJsonElement(serializer, element))
        } catch (error: IllegalArgumentException) {
            findings += "$what $element: ${error.message}"
            return
        }
        if (!isSame(again, element)) findings += "$what $element becomes $again"
    }
}

/** A server of a test, on a port of the system's choice. */
internal class ServerProcess(program: String) : AutoCloseable {
    private val process = ProcessBuilder(program, "--port", "0", "--data", ":memory:").redirectErrorStream(true).start()
    val url: String

    init {
        val lines = process.inputStream.bufferedReader().lineSequence()
        val said = mutableListOf<String>()
        url = lines.onEach { said += it }.firstNotNullOfOrNull { Regex("Serving on (http\\S+)").find(it) }
            ?.groupValues?.get(1) ?: throw TestFailure("$program does not serve: $said")
    }

    override fun close() {
        process.destroy()
        if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly()
    }
}

/** Holds types against a file with values of each feature: `{"counter":{"state":[…],"intent":[…],"label":[…]}}`. */
private fun compareFile(features: List<FeatureTypes>, path: String, counts: Counts) {
    val values = mviJson.parseToJsonElement(File(path).readText()).jsonObject
    fun all(feature: FeatureTypes, kind: String) = values.getValue(feature.name).jsonObject.getValue(kind).jsonArray
    for (feature in features) {
        for (state in all(feature, "state")) counts.compare(feature.state, state, "a state of ${feature.name}")
        for (intent in all(feature, "intent")) counts.compare(feature.intent, intent, "an intent of ${feature.name}")
        for (label in all(feature, "label")) counts.compare(feature.label, label, "a label of ${feature.name}")
        counts.states += all(feature, "state").size
        counts.intents += all(feature, "intent").size
        counts.labels += all(feature, "label").size
    }
}

/**
 * Holds types in Kotlin against JSON: `types.jar SERVER`, or `types.jar FILE.json` for a file with values.
 *
 * Decodes and encodes all examples of intents, labels and states, and what the features that need no identity show
 * while their examples are sent.
 */
fun main(arguments: Array<String>) {
    val (jar, program) = arguments
    val counts = Counts()
    val features = FeatureTypes.of(jar)
    val shown = if (program.endsWith(".json")) {
        compareFile(features, program, counts)
        emptyList()
    } else {
        ServerProcess(program).use { server -> Conversation(server.url, counts).use { it.run(features) } }
    }
    counts.findings.forEach { println("not ok - $it") }
    println(
        "# ${features.size} features, ${counts.intents} intents, ${counts.labels} labels, ${counts.states} states; " +
            "shown without an identity: ${shown.joinToString(", ")}",
    )
    exitProcess(if (counts.findings.isEmpty() && counts.intents > 0 && counts.states > 0) 0 else 1)
}
