package mvi.client.testing

import kotlin.time.Duration.Companion.milliseconds
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json

/** The rules that all clients follow: `Clients/Conformance/predictions.json`. */
@Serializable
private class VectorFile(val about: String, val vectors: List<Vector>)

@Serializable
private class Vector(val name: String, val steps: List<Step>)

@Serializable
private class Event(
    val version: Int = 0,
    val from: Int = 0,
    val to: Int = 0,
    val intent: String? = null,
    val ids: List<String>,
)

@Serializable
private class Step(
    // One of these.
    val state: Event? = null,
    val patch: Event? = null,
    val label: String? = null,
    val tap: String? = null,
    val taps: Int = 0,
    val answer: Int? = null,
    val refuse: Int? = null,
    val busy: Int? = null,
    val lost: Boolean? = null,
    val limited: Boolean? = null,
    val repeated: Boolean? = null,
    val wait: Int? = null,
    val reset: Boolean? = null,
    val hello: String? = null,
    val end: Boolean? = null,
    val denied: Boolean? = null,
    val unwatch: Boolean? = null,
    val retry: String? = null,
    val dismiss: String? = null,
    // The expectations.
    val shows: List<String>? = null,
    val confirmed: List<String>? = null,
    val version: Long? = null,
    val pending: List<List<String>>? = null,
    val labels: List<String>? = null,
    val pendingCount: Int? = null,
    val shownCount: Int? = null,
)

internal fun predictionVectorTests(): List<Test> {
    val file = Json.decodeFromString(VectorFile.serializer(), conformance("predictions.json").readText())
    val count = Test("the vectors are there") { require(file.vectors.size > 30) { "${file.vectors.size} vectors" } }
    return listOf(count) + file.vectors.map { vector -> Test(vector.name) { perform(vector) } }
}

private fun perform(vector: Vector) {
    val store = PredictionPlay(random = 0.0)
    vector.steps.forEachIndexed { index, step ->
        perform(step, store)
        val place = "after step $index"
        step.shows?.let { requireEqual(store.shown, it, "$place, shown") }
        step.confirmed?.let { requireEqual(store.confirmed, it, "$place, confirmed") }
        step.version?.let { requireEqual(store.book.version, it, "$place, version") }
        step.pending?.let { expected ->
            val pending = store.book.entries.map { listOf(it.key, it.status.name.lowercase()) }
            requireEqual(pending, expected, "$place, pending")
        }
        step.labels?.let { requireEqual(store.labels, it, "$place, labels") }
        step.pendingCount?.let { requireEqual(store.book.entries.size, it, "$place, pending") }
        step.shownCount?.let { requireEqual(store.shown.size, it, "$place, shown") }
    }
}

private fun perform(step: Step, store: PredictionPlay) {
    step.state?.let { store.state(it.version, it.ids, it.intent) }
    step.patch?.let { store.patch(it.from, it.to, it.ids, it.intent) }
    step.label?.let { store.event("label", """{"feature":"list","version":1,"id":"$it","label":"$it"}""") }
    step.tap?.let { store.tap(it, if (it == "plain") "note" else "add") }
    for (number in 0 until step.taps) store.tap("t$number")
    step.answer?.let { store.answer(it) }
    step.refuse?.let { store.refuse(it) }
    step.busy?.let {
        store.refuse(it, "busy")
        awaitAttempt(store)
    }
    step.lost?.let {
        store.lose()
        awaitAttempt(store)
    }
    step.limited?.let { store.refuse(429, "too-many-requests") }
    step.repeated?.let { awaitAttempt(store) }
    step.wait?.let { store.advance(it.milliseconds) }
    step.reset?.let { store.event("reset", """{"reason":"expired","labelsLost":false}""") }
    step.hello?.let { store.hello(it) }
    step.end?.let { store.event("end", """{"feature":"list"}""") }
    step.denied?.let { store.event("denied", """{"feature":"list"}""") }
    step.unwatch?.let { store.unwatch() }
    step.retry?.let { store.retry(it) }
    step.dismiss?.let { store.book.dismiss(it) }
}

private fun awaitAttempt(store: PredictionPlay) {
    repeat(9) { if (store.inFlight == null) store.advance(100.milliseconds) }
    require(store.inFlight != null) { "it was not sent again" }
}
