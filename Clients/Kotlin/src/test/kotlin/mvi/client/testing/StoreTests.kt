package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import mvi.client.Availability
import mvi.client.Condition
import mvi.client.PredictionStatus
import mvi.client.RemoteError
import mvi.client.RemoteServer
import mvi.client.RemoteServerOptions
import mvi.client.RemoteStore
import mvi.client.SendCompletion
import mvi.client.store

/** The ids that all clients accept and refuse. */
@Serializable
private class IdFile(val comment: String, val good: List<String>, val bad: List<String>)

/** A store of a server whose answers a test decides. */
private class Shop(linger: Duration) {
    val fake = FakeServer()
    val reports = mutableListOf<String>()
    val outdated = mutableListOf<RemoteError>()

    /** What the clock is ahead by. */
    @Volatile
    var ahead = Duration.ZERO
    val server = RemoteServer(
        "http://127.0.0.1",
        RemoteServerOptions(
            transport = fake, watchLinger = linger, elapsed = { System.nanoTime().nanoseconds + ahead },
            report = { synchronized(reports) { reports += it } },
            onOutdated = { synchronized(outdated) { outdated += it } },
        ),
    )
    val list: RemoteStore<IdList, IdIntent, String> =
        server.store("list") { list, intent -> IdList(list.ids + intent.id) }
}

private fun test(name: String, linger: Duration = Duration.ZERO, run: suspend CoroutineScope.(Shop) -> Unit) =
    Test(name) {
        val shop = Shop(linger)
        try {
            runBlocking(Dispatchers.Default) { withTimeout(60.seconds) { run(shop) } }
        } finally {
            shop.server.close()
        }
    }

/** Collects the states, and returns the accepted stream. */
private fun CoroutineScope.watch(shop: Shop): Pair<Job, FakeServer.Exchange> {
    val job = launch { shop.list.state.collect {} }
    return job to shop.fake.next().also { it.hello() }
}

private suspend fun Shop.shows(vararg ids: String) = list.state.first { it?.ids == ids.toList() }

private fun add(id: String) = IdIntent("add", id)

/** An intent holds a state, and ends while another waits. */
private suspend fun CoroutineScope.checkHeld(shop: Shop, end: Job.(FakeServer.Exchange) -> Unit) {
    val (job, stream) = watch(shop)
    stream.state(1, "")
    shop.shows()
    val sending = launch(start = CoroutineStart.UNDISPATCHED) {
        try { shop.list.send(add("a")) } catch (_: RemoteError) {}
    }
    shop.list.post(add("b"))
    val first = shop.fake.next()
    stream.state(5, "\"o\"")
    sending.end(first)
    shop.list.pending.first { all -> all.none { it.id == first.key && it.status == PredictionStatus.SENDING } }
    requireEqual(shop.list.confirmed.value?.ids, listOf("o"), "confirmed")
    shop.shows("o", "b")
    job.cancelAndJoin()
}

internal fun storeTests(): List<Test> = listOf(
    test("a posted intent is shown before its answer, and confirmed by the stream") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "")
        shop.shows()
        shop.list.post(add("a"))
        shop.shows("a")
        requireEqual(shop.list.confirmed.value?.ids, listOf(), "confirmed")
        requireEqual(shop.list.pending.first { it.isNotEmpty() }.map { it.intent }, listOf(add("a")), "pending")
        val intent = shop.fake.next()
        requireEqual(intent.request["MVI-Session"], "s1", "the session")
        requireEqual(intent.request.body, """{"type":"add","id":"a"}""", "the body")
        intent.accept(2)
        stream.state(2, "\"a\"")
        shop.list.pending.first { it.isEmpty() }
        requireEqual(shop.list.confirmed.value?.ids, listOf("a"), "confirmed")
        job.cancelAndJoin()
    },
    test("a refused intent fails, can be retried with its key, and dismissed") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "")
        shop.shows()
        shop.list.post(add("a"))
        val first = shop.fake.next()
        first.refuse(422, "full")
        val failed = shop.list.pending.first { it.singleOrNull()?.status == PredictionStatus.FAILED }.single()
        requireEqual(failed.error?.problem?.code, "full", "the code")
        requireEqual(shop.list.failure.first { it != null }?.code, RemoteError.Code.REFUSED, "the failure")
        shop.shows()
        failed.retry()
        shop.shows("a")
        val second = shop.fake.next()
        requireEqual(second.request["Idempotency-Key"], first.request["Idempotency-Key"], "the key")
        second.refuse(422, "full")
        shop.list.pending.first { it.singleOrNull()?.status == PredictionStatus.FAILED }.single().dismiss()
        shop.list.pending.first { it.isEmpty() }
        job.cancelAndJoin()
    },
    test("the state that a refused intent held is shown before the next is sent") { shop ->
        checkHeld(shop) { first -> first.refuse(422, "full") }
    },
    test("the state that a canceled intent held is shown before the next is sent") { shop ->
        checkHeld(shop) { first ->
            // It waits for the next attempt.
            first.lose()
            cancel()
        }
    },
    test("send returns after the commit, or when the store shows it") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "")
        shop.shows()
        val committed = async { shop.list.send(add("a")) }
        shop.fake.next().accept(2)
        requireEqual(committed.await().version, 2L, "the version")
        requireEqual(shop.server.pending.value, listOf(), "the intents that wait")
        stream.state(2, "\"a\"")
        val shown = async { shop.list.send(add("b"), SendCompletion.SHOWN) }
        shop.fake.next().accept(3)
        shop.list.pending.first { it.singleOrNull()?.status == PredictionStatus.SENT }
        require(!shown.isCompleted) { "it returned before the state" }
        stream.state(3, "\"a\",\"b\"")
        requireEqual(shown.await().version, 3L, "the version")
        job.cancelAndJoin()
    },
    test("send throws the refusal with its code") { shop ->
        val refused = async { runCatching { shop.list.send(add("a")) } }
        shop.fake.next().refuse(422, "full")
        val error = refused.await().exceptionOrNull() as? RemoteError
        requireEqual(error?.code, RemoteError.Code.REFUSED, "the code")
        requireEqual(error?.problem?.code, "full", "the author's code")
    },
    test("a canceled send that waits behind another is not sent, and no longer shown") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "")
        shop.shows()
        shop.list.post(add("a"))
        val canceled = launch(start = CoroutineStart.UNDISPATCHED) { shop.list.send(add("b")) }
        shop.shows("a", "b")
        canceled.cancelAndJoin()
        shop.shows("a")
        shop.list.post(add("c"))
        shop.fake.next().accept(2)
        requireEqual(shop.fake.next().request.body, """{"type":"add","id":"c"}""", "the next intent")
        job.cancelAndJoin()
    },
    test("labels wait while nobody collects them, and each is collected once") { shop ->
        val (job, stream) = watch(shop)
        for (id in listOf("l1", "l2", "l1", "l3")) stream.label(id)
        requireEqual(shop.list.labels.take(1).toList(), listOf("l1"), "the first collector")
        requireEqual(shop.list.labels.take(2).toList(), listOf("l2", "l3"), "the second")
        val one = async(start = CoroutineStart.UNDISPATCHED) { shop.list.labels.first() }
        val two = async(start = CoroutineStart.UNDISPATCHED) { shop.list.labels.first() }
        stream.label("l4")
        requireEqual(listOf(one.await(), two.await()), listOf("l4", "l4"), "two collectors")
        job.cancelAndJoin()
    },
    test("a label that nobody collected in its time to live is not delivered") { shop ->
        val (job, stream) = watch(shop)
        stream.label("short", expiresIn = 1)
        stream.label("long", expiresIn = 60)
        stream.state(1, "\"z\"")
        shop.shows("z")
        shop.ahead = 30.seconds
        requireEqual(shop.list.labels.first(), "long", "the first one")
        job.cancelAndJoin()
    },
    test("of the labels that nobody collects, the last 1,000 are kept") { shop ->
        val (job, stream) = watch(shop)
        for (number in 1..1_005) stream.label("$number")
        stream.state(1, "\"z\"")
        shop.shows("z")
        requireEqual(shop.list.labels.take(1_000).toList(), (6..1_005).map { "$it" }, "the labels")
        require(shop.reports.any { "dropped" in it }) { "it is not reported: ${shop.reports}" }
        job.cancelAndJoin()
    },
    test("a store is watched while it is collected") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "\"z\"")
        shop.shows("z")
        requireEqual(shop.server.condition.value, Condition.Live, "the condition")
        job.cancelAndJoin()
        require(shop.fake.nextCut() === stream) { "another request was canceled" }
        shop.server.condition.first { it == Condition.Idle }
        requireEqual(shop.list.state.value?.ids, listOf("z"), "the state is kept")
    },
    test("a store is watched beyond a screen's rotation", linger = 1.hours) { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "\"z\"")
        shop.shows("z")
        job.cancelAndJoin()
        requireEqual(shop.server.condition.value, Condition.Live, "the condition")
        val again = launch(start = CoroutineStart.UNDISPATCHED) { shop.list.state.collect {} }
        stream.state(2, "\"y\"")
        shop.shows("y")
        require(shop.fake.isIdle && shop.fake.cuts.isEmpty()) { "there was another stream" }
        again.cancelAndJoin()
    },
    test("a store is outdated while its state does not match: the last one stays, without predictions") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "\"a\"")
        shop.shows("a")
        shop.list.post(add("b"))
        shop.shows("a", "b")
        val intent = shop.fake.next()
        stream.outdated(2)
        shop.list.availability.first { it == Availability.OUTDATED }
        shop.shows("a")
        requireEqual(shop.list.failure.value?.code, RemoteError.Code.OUTDATED, "the failure")
        intent.accept(2)
        shop.list.pending.first { it.isEmpty() }
        requireEqual(shop.list.failure.value?.code, RemoteError.Code.OUTDATED, "the failure after an intent")
        shop.list.post(add("c"))
        shop.fake.next().accept(3)
        stream.outdated(3)
        shop.server.pending.first { it.isEmpty() }
        shop.shows("a")
        stream.state(4, "\"z\"")
        shop.shows("z")
        val now = shop.list.availability.value to shop.list.failure.value
        requireEqual(now, Availability.SHOWN to null, "after a state that matches")
        require(shop.reports.any { "does not match" in it }) { "it is not reported: ${shop.reports}" }
        job.cancelAndJoin()
    },
    test("send until shown throws that the store is outdated, and the app is told once") { shop ->
        val (job, stream) = watch(shop)
        stream.state(1, "")
        shop.shows()
        val sent = async { runCatching { shop.list.send(add("a"), SendCompletion.SHOWN) } }
        shop.fake.next().accept(2)
        stream.outdated(2)
        val error = sent.await().exceptionOrNull() as? RemoteError
        requireEqual(error?.code to error?.mayHaveRun, RemoteError.Code.OUTDATED to true, "the error")
        val committed = async { shop.list.send(add("b")) }
        shop.fake.next().accept(3)
        requireEqual(committed.await().version, 3L, "an intent until its commit")
        stream.outdated(4)
        val cart = shop.server.store<IdList, IdIntent, String>("cart:7")
        val other = launch { cart.state.collect {} }
        shop.fake.next().also { it.hello() }.event("state", """{"feature":"cart:7","version":1,"state":7}""")
        cart.availability.first { it == Availability.OUTDATED }
        requireEqual(shop.outdated.map { it.code }, listOf(RemoteError.Code.OUTDATED), "what the app is told")
        other.cancelAndJoin()
        job.cancelAndJoin()
    },
    test("an end is told") { shop ->
        val (job, stream) = watch(shop)
        stream.state(2, "\"a\"")
        shop.shows("a")
        stream.event("end", """{"feature":"list"}""")
        shop.list.availability.first { it == Availability.ENDED }
        job.cancelAndJoin()
    },
    test("after close labels end and intents fail") { shop ->
        val (job, _) = watch(shop)
        val labels = async(start = CoroutineStart.UNDISPATCHED) { shop.list.labels.toList() }
        val waiting = async(start = CoroutineStart.UNDISPATCHED) { runCatching { shop.list.send(add("a")) } }
        shop.server.close()
        requireEqual(labels.await(), listOf(), "the labels")
        val error = waiting.await().exceptionOrNull() as? RemoteError
        requireEqual(error?.code to error?.mayHaveRun, RemoteError.Code.CLOSED to true, "the waiting intent")
        val late = runCatching { shop.list.send(add("b")) }.exceptionOrNull() as? RemoteError
        requireEqual(late?.code, RemoteError.Code.CLOSED, "a later intent")
        requireEqual(shop.list.labels.toList(), listOf(), "later labels")
        shop.server.condition.first { it == Condition.Closed }
        job.cancelAndJoin()
    },
    test("a store is disposed of after earlier intents") { shop ->
        shop.list.post(add("a"))
        val disposed = async(start = CoroutineStart.UNDISPATCHED) { shop.list.dispose() }
        shop.fake.next().accept(2)
        val request = shop.fake.next()
        val line = "${request.request.method} ${request.request.target}"
        requireEqual(line, "DELETE /features/list/state", "the request")
        request.answer(204, "")
        disposed.await()
    },
    test("the server's pending intents are those of all stores, in order, until their answers") { shop ->
        val cart = shop.server.store<IdList, IdIntent, String>("cart:7")
        requireEqual(shop.server.pending.value, listOf(), "at first")
        shop.list.post(add("a"))
        cart.post(add("b"))
        val disposal = launch(start = CoroutineStart.UNDISPATCHED) { shop.list.dispose() }
        val canceled = launch(start = CoroutineStart.UNDISPATCHED) { cart.send(add("c")) }
        val waiting = shop.server.pending.first { it.size == 3 }
        val expected = listOf("list" to "a", "cart:7" to "b", "cart:7" to "c")
            .map { (feature, id) -> feature to """{"type":"add","id":"$id"}""" }
        requireEqual(waiting.map { it.feature to it.intent }, expected, "three")
        canceled.cancelAndJoin()
        requireEqual(shop.server.pending.first { it.size == 2 }, waiting.take(2), "after the cancellation")
        val first = shop.fake.next()
        requireEqual(first.request["Idempotency-Key"], "\"${waiting[0].key}\"", "the key")
        first.accept(2)
        requireEqual(shop.server.pending.first { it.size == 1 }, listOf(waiting[1]), "after an answer")
        shop.fake.next().refuse(422, "full")
        shop.server.pending.first { it.isEmpty() }
        shop.fake.next().answer(204, "")
        disposal.join()
        shop.list.post(add("d"))
        shop.server.pending.first { it.size == 1 }
        shop.server.close()
        shop.server.pending.first { it.isEmpty() }
    },
    test("a key from a link addresses no other resource: ids are checked when the store is made") { shop ->
        val file = Json.decodeFromString(IdFile.serializer(), conformance("ids.json").readText())
        require(file.good.size > 5 && file.bad.size > 20) { "${file.good.size} and ${file.bad.size} ids" }
        for (id in file.good) requireEqual(shop.server.store<IdList, IdIntent, String>(id).feature, id)
        for (id in file.bad) {
            val made = runCatching { shop.server.store<IdList, IdIntent, String>(id) }
            val error = made.exceptionOrNull() as? IllegalArgumentException
            require("such as \"counter\" or \"order:42\"" in error?.message.orEmpty()) { "the id $id: $made" }
        }
        require(shop.fake.isUnasked) { "there was a request" }
    },
)
