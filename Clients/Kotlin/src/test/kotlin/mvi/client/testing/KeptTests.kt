package mvi.client.testing

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import mvi.client.MemoryCredentialStorage
import mvi.client.PendingStorage
import mvi.client.RemoteError
import mvi.client.RemoteServer
import mvi.client.RemoteServerOptions
import mvi.client.RemoteStore
import mvi.client.WaitingIntent
import mvi.client.connection.Command
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Input
import mvi.client.connection.IntentOwner
import mvi.client.connection.KeptIntent
import mvi.client.connection.Outcome
import mvi.client.connection.PendingIntent
import mvi.client.store
import mvi.client.store.Predictions
import mvi.client.wire.string

private const val NAME = "mvi-client:http://127.0.0.1 pending"

/** A storage that outlives servers. */
private class Shelf(text: String? = null) : PendingStorage {
    val texts = LinkedBlockingQueue<String>()
    val gate = CompletableDeferred<Unit>()

    @Volatile
    var text: String? = text
        private set

    override suspend fun load(name: String): String? {
        requireEqual(name, NAME, "the name")
        gate.await()
        return text
    }

    override suspend fun save(name: String, text: String) {
        requireEqual(name, NAME, "the name")
        this.text = text
        texts.put(text)
    }

    /** Waits until it has intents with these ids. */
    fun has(vararg ids: String) {
        while (true) {
            val text = texts.poll(60, TimeUnit.SECONDS) ?: throw TestFailure("it does not have ${ids.toList()}: $text")
            val all = Json.parseToJsonElement(text).jsonArray.map { it.jsonObject.string("body") }
            if (all == ids.map { """{"type":"add","id":"$it"}""" }) return
        }
    }
}

/** A run of an app. */
private class Launch(val shelf: PendingStorage, token: String? = null) {
    val fake = FakeServer()
    val reports = LinkedBlockingQueue<String>()
    val abandoned = LinkedBlockingQueue<Pair<WaitingIntent, RemoteError>>()
    val server = RemoteServer(
        "http://127.0.0.1",
        RemoteServerOptions(
            credentials = MemoryCredentialStorage(token), pendingStorage = shelf, transport = fake,
            watchLinger = Duration.ZERO, onAbandoned = { intent, error -> abandoned.put(intent to error) },
            report = { reports.put(it) }, locale = null, timeZone = null,
        ),
    )

    fun list(): RemoteStore<IdList, IdIntent, String> =
        server.store("list") { list, intent -> IdList(list.ids + intent.id) }

    fun nextAbandoned() = abandoned.poll(60, TimeUnit.SECONDS) ?: throw TestFailure("no intent was abandoned")
}

private fun add(id: String) = IdIntent("add", id)

private fun kept(id: String, session: String? = "s1", until: Long = Long.MAX_VALUE / 2, mayHaveRun: Boolean = false) =
    KeptIntent("key-$id", "list", """{"type":"add","id":"$id"}""", IntentOwner(session), until, mayHaveRun)

private fun shelf(vararg kept: KeptIntent) = Shelf(KeptIntent.write(kept.toList())).apply { gate.complete(Unit) }

private fun idOf(exchange: FakeServer.Exchange) =
    exchange.request.body?.let { Json.decodeFromString(IdIntent.serializer(), it).id }

private fun test(name: String, run: suspend CoroutineScope.() -> Unit) =
    Test(name) { runBlocking(Dispatchers.Default) { withTimeout(60.seconds) { run() } } }

/** A connection with kept intents, whose credential was read. */
private fun restored(token: String?, vararg kept: KeptIntent): Pair<Play, List<Command>> {
    val play = Play(ConnectionSettings(keepsIntents = true), random = 0.5)
    val ids = generateSequence(101L) { it + 1 }.iterator()
    val commands = play.handle(Input.Restored(kept.map { PendingIntent(ids.next(), it) })) +
        play.handle(Input.Credential(token))
    return play to commands
}

private val List<Command>.failures: List<RemoteError>
    get() = filterIsInstance<Command.Finish>().mapNotNull { (it.outcome as? Outcome.Failed)?.error }

private val List<Command>.starts: List<Command.Start> get() = filterIsInstance<Command.Start>()

internal fun keptTests(): List<Test> = listOf(
    test("intents that waited at the app's end are sent by the next run, first and with their keys") {
        val shelf = shelf()
        val first = Launch(shelf)
        val list = first.list()
        for (id in listOf("a", "b")) list.post(add(id))
        val before = first.fake.next()
        shelf.has("a", "b")
        // The end is sudden: nothing is asked of this run any more.
        val second = Launch(shelf, token = "t1")
        val again = second.list()
        again.post(add("c"))
        for ((index, id) in listOf("a", "b", "c").withIndex()) {
            val exchange = second.fake.next()
            requireEqual(idOf(exchange), id, "the order")
            if (id == "a") {
                requireEqual(exchange.request["Idempotency-Key"], before.request["Idempotency-Key"], "the key")
            }
            exchange.accept(2 + index)
        }
        second.server.pending.first { it.isEmpty() }
        shelf.has()
        require(second.abandoned.isEmpty()) { "an intent was abandoned" }
        first.server.close()
        second.server.close()
    },
    test("kept intents are predicted after the first state, before this run's, but not one that may have run") {
        val shelf = Shelf(KeptIntent.write(listOf(kept("a", mayHaveRun = true), kept("b"))))
        val launch = Launch(shelf, token = "t1")
        val list = launch.list()
        val job = launch { list.state.collect {} }
        val stream = launch.fake.next().also { it.hello() }
        list.post(add("c"))
        shelf.gate.complete(Unit)
        requireEqual(list.pending.first { it.size == 3 }.map { it.intent.id }, listOf("a", "b", "c"), "pending")
        launch.fake.next()
        stream.state(7, "\"a\"")
        list.state.first { it?.ids == listOf("a", "b", "c") }
        // A store that is made later shows them, too.
        val late = launch.list()
        requireEqual(late.pending.first { it.size == 2 }.map { it.intent.id }, listOf("a", "b"), "the later store")
        job.cancelAndJoin()
        launch.server.close()
    },
    test("a store that is made while a kept intent is out does not show it on a state that may have it") {
        val launch = Launch(shelf(kept("a")), token = "t1")
        launch.fake.next()
        val list = launch.list()
        list.pending.first { it.size == 1 }
        val job = launch { list.state.collect {} }
        launch.fake.next().also { it.hello() }.state(7, "\"a\"")
        requireEqual(list.state.first { it != null }?.ids, listOf("a"), "the state")
        job.cancelAndJoin()
        launch.server.close()
    },
    test("a kept intent is given up after its patience by the wall clock, and the app is told") {
        val shelf = shelf(kept("a", until = System.currentTimeMillis() - 1, mayHaveRun = true), kept("b"))
        val launch = Launch(shelf, token = "t1")
        val (intent, error) = launch.nextAbandoned()
        requireEqual(intent, WaitingIntent("list", """{"type":"add","id":"a"}""", "key-a"), "the intent")
        requireEqual(error.code to error.mayHaveRun, RemoteError.Code.GAVE_UP to true, "the error")
        requireEqual(idOf(launch.fake.next()), "b", "the next one")
        launch.server.close()
    },
    test("a kept intent that is refused fails in its store, and the app is told") {
        val launch = Launch(shelf(kept("a")), token = "t1")
        val list = launch.list()
        launch.fake.next().refuse(422, "full")
        requireEqual(launch.nextAbandoned().second.problem?.code, "full", "the code")
        list.pending.first { it.singleOrNull()?.error?.problem?.code == "full" }
        launch.server.close()
    },
    test("a kept intent of another session is not in the store, and one that was given up can be retried") {
        val launch = Launch(shelf(kept("a", session = "s9"), kept("b", session = null, until = 0)))
        val list = launch.list()
        val codes = List(2) { launch.nextAbandoned().second.code }
        val both = setOf(RemoteError.Code.SESSION_ENDED, RemoteError.Code.GAVE_UP)
        requireEqual(codes.toSet(), both, "the codes")
        list.pending.first { all -> all.map { it.intent.id } == listOf("b") && all[0].error != null }.single().retry()
        val exchange = launch.fake.next()
        requireEqual(idOf(exchange), "b", "the retry")
        exchange.accept(2)
        launch.server.pending.first { it.isEmpty() }
        launch.server.close()
    },
    test("a closed client leaves its waiting intents to the next run, and tells nothing of them") {
        val shelf = shelf(kept("a"))
        val launch = Launch(shelf, token = "t1")
        launch.fake.next()
        launch.list().post(add("b"))
        shelf.has("a", "b")
        launch.server.close()
        require(launch.abandoned.isEmpty() && KeptIntent.read(shelf.text.orEmpty()).size == 2) { "they are given up" }
    },
    test("a storage that fails, and another program's text, keep nothing and stop nothing") {
        val fails = object : PendingStorage {
            override suspend fun load(name: String) = throw IllegalStateException("locked")
            override suspend fun save(name: String, text: String) = throw IllegalStateException("full")
        }
        val entry = KeptIntent.write(listOf(kept("a")))
        val texts = listOf(
            "no JSON", "{}", "7", "[null]", entry.replace("list", "../x"), entry.replace("key-a", "a\\r\\nb"),
            entry.replace("\"until\":", "\"since\":"),
        )
        for (storage in listOf(fails) + texts.map { text -> Shelf(text).apply { gate.complete(Unit) } }) {
            val launch = Launch(storage)
            launch.list().post(add("c"))
            requireEqual(idOf(launch.fake.next()), "c", "the intent")
            val report = launch.reports.poll(60, TimeUnit.SECONDS)
            require(report?.startsWith("The kept intents cannot be read") == true) { "it is not reported: $report" }
            launch.server.close()
        }
    },
    Test("kept intents do not run in another session: the server is asked by MVI-Session while its id is unknown") {
        val (play, commands) = restored("t2", kept("a"), kept("b"))
        play.handle(Input.Send(PendingIntent(1, "list", "{}", "key-c")))
        val first = commands.starts.single()
        requireEqual(first.request["MVI-Session"], "s1", "the session")
        val problem = """{"type":"/problems/other-session","status":409}"""
        val after = play.answer(first.id, 409, problem, "application/problem+json")
        requireEqual(after.failures.map { it.code }, List(2) { RemoteError.Code.SESSION_ENDED }, "the kept ones")
        requireEqual(after.starts.single().request["Idempotency-Key"], "\"key-c\"", "this run's")
    },
    Test("an answer to a kept intent confirms its session, which later intents name") {
        val (play, commands) = restored("t1", kept("a"))
        val after = play.answer(commands.starts.single().id, 204, "", "application/json") +
            play.handle(Input.Send(PendingIntent(1, "list", "{}", "key-c")))
        requireEqual(after.starts.single().request["MVI-Session"], "s1", "the session")
    },
    Test("kept intents end with a session that the server has lost, and those of no session run in the next") {
        val (play, commands) = restored(null, kept("a"), kept("b", session = null))
        val made = commands.starts.single()
        val after = play.answer(made.id, 201, """{"id":"s2","token":"t2"}""", "application/json")
        requireEqual(after.failures.map { it.code }, listOf(RemoteError.Code.SESSION_ENDED), "the lost session's")
        requireEqual(after.starts.single().request["Idempotency-Key"], "\"key-b\"", "the other")
    },
    Test("a kept intent of a session whose id was unknown is for the same credential only") {
        val of = kept("a").copy(owner = IntentOwner(group = IntentOwner.group("t1")))
        requireEqual(restored("t1", of).second.starts.size, 1, "the same")
        val (_, other) = restored("t2", of)
        requireEqual(other.starts.size to other.failures.size, 0 to 1, "another")
    },
    Test("what waits for a lost session is not kept for the next user's") {
        val play = Play(ConnectionSettings(keepsIntents = true), random = 0.5)
        play.handle(Input.Restored(emptyList()))
        play.handle(Input.Watch("list"))
        play.handle(Input.Credential("t1"))
        play.hello()
        val sent = play.handle(Input.Send(PendingIntent(1, "list", "{}", "key-1")))
        val problem = """{"type":"/problems/session-not-found","status":404}"""
        val lost = play.answer(sent.starts.single().id, 404, problem, "application/problem+json")
        val kept = lost.filterIsInstance<Command.Keep>().lastOrNull() ?: sent.filterIsInstance<Command.Keep>().last()
        requireEqual(kept.intents.map { it.owner }, listOf(IntentOwner("s1")), "the owner")
    },
    Test("a request that is out at the app's end may have run, and offline intents are kept") {
        val play = Play(ConnectionSettings(keepsIntents = true), random = 0.5)
        play.handle(Input.Restored(emptyList()))
        play.handle(Input.Online(false))
        val asked = play.handle(Input.Send(PendingIntent(1, "list", "{}", "key-1")))
        require(Command.LoadCredential in asked) { "the credential is not read without a network" }
        val offline = play.handle(Input.Credential("t1")).filterIsInstance<Command.Keep>().single()
        requireEqual(offline.intents.map { it.mayHaveRun }, listOf(false), "offline")
        val online = play.handle(Input.Online(true)).filterIsInstance<Command.Keep>().single()
        requireEqual(online.intents.map { it.mayHaveRun }, listOf(true), "in flight")
    },
    Test("a first state may have an intent that may have run") {
        val book = Predictions<IdList, IdIntent, String> { list, intent -> IdList(list.ids + intent.id) }
        book.resume(listOf(Predictions.Entry("a", add("a"), "{}", isLost = true), Predictions.Entry("b", add("b"), "{}")))
        book.show(IdList(listOf("a")), 7, null)
        requireEqual(book.shown?.ids, listOf("a", "b"), "the state")
    },
    Test("nothing is saved before the kept intents were read, nor of an intent without an owner") {
        val play = Play(ConnectionSettings(keepsIntents = true), random = 0.5)
        val early = play.handle(Input.Send(PendingIntent(1, "list", "{}", "key-1"))) +
            play.handle(Input.Credential("t1")) + play.handle(Input.Watch("list"))
        require(early.none { it is Command.Keep }) { "it is saved before" }
        require(play.handle(Input.Restored(emptyList())).any { it is Command.Keep }) { "it is not saved after" }
        val other = Play(ConnectionSettings(keepsIntents = true), random = 0.5)
        val unowned = other.handle(Input.Restored(emptyList())) +
            other.handle(Input.Send(PendingIntent(1, "list", "{}", "key-1")))
        require(unowned.none { it is Command.Keep }) { "it is saved without an owner" }
    },
    Test("a wall clock that was set back keeps no intent longer than its patience") {
        val (play, _) = restored("t1", kept("a", until = 24.hours.inWholeMilliseconds))
        val commands = play.advance(5.minutes + 1.seconds)
        requireEqual(commands.failures.map { it.code }, listOf(RemoteError.Code.GAVE_UP), "after five minutes")
    },
)
