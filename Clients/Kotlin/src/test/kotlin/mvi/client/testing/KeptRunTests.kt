package mvi.client.testing

import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import mvi.client.RemoteError
import mvi.client.connection.Input
import mvi.client.connection.IntentOwner
import mvi.client.connection.KeptIntent

/** A session of a server: a list, which intents change. */
private class KeptSession(val number: Int) {
    val id = "s$number"
    val token = "t$number"
    var version = 1
    var ids = listOf<String>()
    var intent: String? = null
    val receipts = LinkedHashMap<String, Int>()

    fun run(key: String): Int = receipts.getOrPut(key) {
        version += 1
        ids = ids + key
        intent = key
        version
    }
}

/** Runs of an app on one device, with kills, in the order of a seed. */
private class KeptRun(seed: Long) {
    private val chance = Chance(seed)
    private val device = Device()
    private val sessions = mutableListOf<KeptSession>()
    private var lost = setOf<String>()
    private var app = KeptPlay(device, chance.next())
    private var sent: Pair<KeptSession, Int>? = null
    private val taps = LinkedHashMap<String, Long>()

    /** The time at which the app last learned that its session is lost, or another user's credential came. */
    private var lastLoss = 0L

    /** Intents of other sessions, with the session in which they must not run. */
    private val foreign = mutableMapOf<String, String>()
    private var isOnline = true
    private var isCalm = false
    var kills = 0
        private set
    var givenUp = 0
        private set
    val count: Int get() = taps.size

    fun run() {
        repeat(80) {
            step(chance.next())
            check()
        }
        isCalm = true
        app.handle(Input.Online(true))
        app.restore()
        for (round in 0 until 400) {
            serve()
            app.read()
            flush()
            app.advance(500.milliseconds)
            check()
            if (app.waiting.isEmpty() && app.isLive && app.book.version == current()?.version?.toLong()) break
        }
        end()
    }

    private fun current() = sessions.lastOrNull()

    private fun step(roll: Double) {
        when {
            roll < 0.28 -> tap()
            roll < 0.6 -> serve()
            roll < 0.66 -> app.read()
            roll < 0.72 -> app.restore()
            roll < 0.82 -> flush()
            roll < 0.9 -> app.advance(chance.below(800).milliseconds)
            roll < 0.92 -> toggle()
            roll < 0.93 -> if (app.isLive) app.cutStream()
            roll < 0.935 -> app.advance(150.seconds)
            roll < 0.942 -> loseSession()
            else -> kill()
        }
    }

    private fun tap() {
        // An intent has no owner before the credential is read, and is not kept while another run's are unread.
        if (!app.isRead) return app.read()
        if (!app.isRestored) app.restore()
        val key = "k${taps.size + 1}"
        taps[key] = device.wall
        app.tap(key)
    }

    private fun toggle() {
        isOnline = !isOnline
        app.handle(Input.Online(isOnline))
    }

    private fun loseSession() {
        val session = current() ?: return
        lost = lost + session.token
    }

    /** Ends the app suddenly, and starts it again: soon, or after a while. */
    private fun kill() {
        kills += 1
        device.wall += if (chance.picks(0.1)) 200_000L else chance.below(5_000).toLong()
        if (chance.picks(0.05)) switchUser()
        app = KeptPlay(device, chance.next())
        isOnline = true
        sent = null
    }

    /** Another user's credential is on the device. */
    private fun switchUser() {
        val next = KeptSession(sessions.size + 1)
        lastLoss = device.wall
        for (kept in device.kept?.let { KeptIntent.read(it) }.orEmpty()) {
            if (kept.owner != IntentOwner()) foreign[kept.key] = next.id
        }
        sessions += next
        device.credential = next.token
    }

    // The server

    private fun flush() {
        val session = current() ?: return
        if (!app.isLive || app.play.connection.session.id != session.id) return
        if (sent == session to session.version) return
        val ids = session.ids.joinToString(",") { "\"$it\"" }
        val intent = session.intent?.let { ",\"intent\":\"$it\"" }.orEmpty()
        app.event("state", """{"feature":"list","version":${session.version}$intent,"state":{"ids":[$ids]}}""")
        sent = session to session.version
    }

    private fun serve() {
        val exchange = app.exchanges.getOrNull(chance.below(app.exchanges.size)) ?: return
        val request = exchange.request
        if (!isCalm && chance.picks(0.15) && !request.target.startsWith("/events")) return app.lose(exchange)
        if (request.target == "/sessions") {
            val session = KeptSession(sessions.size + 1)
            sessions += session
            return app.answer(exchange, 201, """{"id":"${session.id}","token":"${session.token}"}""")
        }
        val token = request["Authorization"]?.removePrefix("Bearer ")
        val session = sessions.firstOrNull { it.token == token && it.token !in lost }
        if (session == null) {
            lastLoss = device.wall
            return app.answer(exchange, 404, """{"type":"/problems/session-not-found","status":404}""")
        }
        if (request.method == "GET") {
            if (app.isLive) return
            sent = null
            return app.hello(exchange, session.id)
        }
        if (request["MVI-Session"] !in setOf(null, session.id)) {
            return app.answer(exchange, 409, """{"type":"/problems/other-session","status":409}""")
        }
        run(exchange, session)
    }

    private fun run(exchange: KeptPlay.Exchange, session: KeptSession) {
        val key = exchange.request["Idempotency-Key"].orEmpty().trim('"')
        if (!isCalm) {
            when (chance.below(8)) {
                0 -> return app.answer(exchange, 503, """{"type":"/problems/busy","status":503}""")
                1 -> return app.answer(exchange, 429, """{"type":"/problems/too-many-requests","status":429}""")
                2 -> {
                    session.run(key)
                    return app.lose(exchange)
                }
            }
            if (chance.picks(0.05) && key !in session.receipts) {
                return app.answer(exchange, 422, """{"type":"/problems/refused","status":422}""")
            }
        }
        require(foreign[key] != session.id) { "$key ran in another user's session" }
        val version = session.run(key)
        if (chance.picks(0.5)) flush()
        app.answer(exchange, 202, """{"intent":"$key","session":"${session.id}","version":$version}""")
    }

    // The rules

    private fun check() {
        val shown = app.shown
        require(shown.toSet().size == shown.size) { "an intent is shown twice: $shown" }
        val numbers = app.waiting.map { it.drop(1).toInt() }
        require(numbers == numbers.sorted()) { "the order of what waits: $numbers" }
    }

    private fun end() {
        for (session in sessions) {
            val numbers = session.ids.map { it.drop(1).toInt() }
            require(numbers == numbers.distinct().sorted()) { "${session.id} ran $numbers" }
        }
        for ((key, time) in taps) {
            require(key in device.told) { "$key is lost" }
            val error = device.told[key]
            when (error?.code) {
                null -> require(sessions.any { key in it.receipts }) { "$key is told to have run" }
                RemoteError.Code.GAVE_UP -> {
                    givenUp += 1
                    require(device.wall - time >= 300_000) { "$key was given up early" }
                }
                RemoteError.Code.SESSION_ENDED -> require(lastLoss >= time) { "$key was dropped: $error" }
                RemoteError.Code.REFUSED -> {}
                else -> throw TestFailure("$key: $error")
            }
            val ran = current()?.receipts.orEmpty()
            if (error != null && !error.mayHaveRun) require(key !in ran) { "$key ran, and is told not to have" }
        }
        requireEqual(app.shown, current()?.ids.orEmpty(), "at rest")
    }
}

internal fun keptRunTests(): List<Test> = listOf(
    Test("over many kills of the app each intent runs once, in order, and none is lost") {
        val seeds = System.getenv("MVI_PREDICTION_SEEDS")?.toLongOrNull() ?: 300
        val start = System.nanoTime()
        var kills = 0
        var taps = 0
        var givenUp = 0
        for (seed in 1..seeds) {
            val run = KeptRun(seed)
            try {
                run.run()
            } catch (error: TestFailure) {
                throw TestFailure("seed $seed: ${error.message}")
            }
            kills += run.kills
            taps += run.count
            givenUp += run.givenUp
        }
        val time = (System.nanoTime() - start) / 1_000_000
        println("# $seeds seeds, $kills kills, $taps taps, $givenUp given up, $time ms")
    },
)
