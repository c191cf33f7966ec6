package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import mvi.client.RemoteServer
import mvi.client.RemoteServerOptions
import mvi.client.RemoteStore
import mvi.client.store

@Serializable
private data class Face(val name: String)

private fun FakeServer.Exchange.presence(count: Int, vararg viewers: String, feature: String = "list") =
    event("presence", """{"feature":"$feature","new":[],"count":$count,"viewers":[${viewers.joinToString(",")}]}""")

private fun test(
    name: String,
    run: suspend CoroutineScope.(FakeServer, () -> RemoteStore<IdList, IdIntent, String>) -> Unit,
) = Test(name) {
    val fake = FakeServer()
    val options = RemoteServerOptions(
        transport = fake, watchLinger = Duration.ZERO, elapsed = { System.nanoTime().nanoseconds },
        json = Json { ignoreUnknownKeys = true },
    )
    val server = RemoteServer("http://127.0.0.1", options)
    try {
        runBlocking(Dispatchers.Default) { withTimeout(60.seconds) { run(fake) { server.store("list") } } }
    } finally {
        server.close()
    }
}

internal fun presenceTests(): List<Test> = listOf(
    test("a store shows who looks at it by the app's types, as one value until it changes, while it is watched") { fake, open ->
        val store = open()
        requireEqual(store.presence.value, null, "before the first")
        val watching = launch { store.state.collect {} }
        val stream = fake.next()
        stream.hello()
        stream.presence(9, feature = "stranger")
        val viewers = arrayOf("""{"name":"Ana","at":1}""", """{"other":1}""", """{"name":"Ben"}""")
        stream.presence(5, *viewers)
        val presence = store.presence.first { it?.count == 5 }
        requireEqual(presence?.viewers<Face>(), listOf(Face("Ana"), Face("Ben")), "the viewers")
        stream.presence(5, *viewers)
        stream.state(2, "")
        store.state.first { it != null }
        require(store.presence.value === presence) { "another value" }
        stream.presence(1)
        requireEqual(store.presence.first { it?.count == 1 }?.viewers<Face>(), listOf(), "the viewers")
        watching.cancelAndJoin()
        store.presence.first { it == null }
    },
    test("another store of the same feature gets the known set") { fake, open ->
        val (first, second) = open() to open()
        val watching = launch { first.state.collect {} }
        val stream = fake.next()
        stream.hello()
        stream.presence(2, "1")
        first.presence.first { it?.count == 2 }
        val alsoWatching = launch { second.state.collect {} }
        requireEqual(second.presence.first { it != null }?.viewers<Int>(), listOf(1), "the viewers")
        watching.cancelAndJoin()
        first.presence.first { it == null }
        requireEqual(second.presence.value, second.presence.first { it?.count == 2 }, "the other's")
        alsoWatching.cancelAndJoin()
    },
)
