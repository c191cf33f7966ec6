package mvi.client.testing

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import mvi.client.PredictionStatus

/** A server's list, which intents and other writers change. */
private class World {
    var version = 1
    var ids = listOf<String>()
    var intent: String? = null
    val receipts = mutableMapOf<String, Int>()

    /** The version that the stream has shown; null if none. */
    var sent: Int? = null
    var others = 0

    fun add(id: String, key: String) {
        version += 1 + id.length % 2
        ids = ids + id
        intent = key
    }

    fun run(key: String): Int = receipts.getOrPut(key) {
        add(key, key)
        version
    }

    fun flush(store: PredictionPlay, chance: Chance) {
        val before = sent
        if (!store.isLive || before == version) return
        if (before != null && chance.picks(0.5)) {
            store.patch(before, version, ids, intent)
        } else {
            store.state(version, ids, intent)
        }
        sent = version
    }
}

private val PredictionPlay.isLive: Boolean get() = play.connection.stream.open?.isLive == true

/** Holds the shown list against the rules after each step. */
private class Watch {
    private var shown = listOf<String>()
    private val since = mutableMapOf<String, Duration>()
    val dismissed = mutableSetOf<String>()
    var mayReset = false
    var stepsBack = 0

    fun check(store: PredictionPlay) {
        val queue = store.play.connection.intents.queue.map { it.key }
        require(store.waiting == queue) { "${store.waiting} wait, not $queue" }
        val (ids, confirmed) = store.shown to store.confirmed
        require(ids.toSet().size == ids.size) { "an id is shown twice: $ids" }
        require(ids.take(confirmed.size) == confirmed) { "the server's list comes first: $ids, not $confirmed" }
        val order = store.book.entries.map { it.key }
        val places = ids.drop(confirmed.size).map { order.indexOf(it) }
        require(places == places.sorted() && -1 !in places) { "the order of $ids is not that of $order" }
        for (id in shown) {
            if (id in ids) continue
            val isFailed = store.book.entries.any { it.key == id && it.status == PredictionStatus.FAILED }
            if (isFailed || mayReset || id in dismissed) continue
            require(store.play.now - (since[id] ?: Duration.ZERO) >= 1.seconds) { "$id disappeared early" }
            stepsBack += 1
        }
        shown = ids
        for (id in ids) since.getOrPut(id) { store.play.now }
    }
}

/** A run of taps, answers, states and losses in the order of a seed. */
private class Run(seed: Long) {
    private val chance = Chance(seed)
    private val store = PredictionPlay(chance.next())
    private val world = World()
    private val watch = Watch()
    var taps = 0
        private set
    val stepsBack: Int get() = watch.stepsBack

    fun run() {
        repeat(60) {
            step(chance.next())
            watch.check(store)
        }
        for (index in 0 until 400) {
            answer(1.0)
            if (!store.isLive) reopen(null)
            world.flush(store, chance)
            store.advance(500.milliseconds)
            watch.check(store)
            val isOver = store.inFlight == null && store.book.entries.all { it.status == PredictionStatus.FAILED }
            if (isOver && store.book.version == world.version.toLong()) break
        }
        requireEqual(store.shown, world.ids, "at rest")
    }

    private fun step(roll: Double) {
        when {
            roll < 0.3 -> {
                taps += 1
                store.tap("$taps")
            }
            roll < 0.55 -> answer(chance.next())
            roll < 0.75 -> world.flush(store, chance)
            roll < 0.83 -> {
                world.others += 1
                world.add("o${world.others}", "other${world.others}")
            }
            roll < 0.86 -> reopen(null)
            roll < 0.95 -> store.advance((chance.next() * 250).toInt().milliseconds)
            roll < 0.952 -> store.advance(1_500.milliseconds)
            roll < 0.965 && store.isLive -> {
                watch.mayReset = true
                store.event("reset", """{"reason":"expired","labelsLost":false}""")
                world.sent = null
            }
            roll < 0.975 -> {
                // A server that was restored: the log is another, the receipts are kept.
                watch.mayReset = true
                reopen("e${(chance.next() * 1_000_000).toInt()}")
            }
            else -> endFailed()
        }
    }

    private fun endFailed() {
        val failed = store.book.entries.firstOrNull { it.status == PredictionStatus.FAILED } ?: return
        if (chance.picks(0.5)) {
            store.retry(failed.key)
        } else {
            watch.dismissed += failed.key
            store.book.dismiss(failed.key)
        }
    }

    private fun reopen(epoch: String?) {
        store.hello(epoch ?: store.play.connection.session.epoch ?: "e1")
        world.sent = null
    }

    private fun answer(roll: Double) {
        val key = store.inFlight?.key ?: return
        when {
            roll < 0.06 -> return store.lose()
            roll < 0.12 -> {
                world.run(key)
                return store.lose()
            }
            roll < 0.25 -> return store.refuse(503, "overloaded")
            roll < 0.3 -> return store.refuse(429, "too-many-requests")
            roll < 0.38 && key !in world.receipts -> return store.refuse(422)
        }
        val version = world.run(key)
        // The stream is woken before the answer is sent, or after it.
        if (chance.picks(0.5)) world.flush(store, chance)
        store.answer(version)
    }
}

internal fun predictionRunTests(): List<Test> = listOf(
    Test("the rules of predictions hold in random runs") {
        val count = System.getenv("MVI_PREDICTION_SEEDS")?.toLongOrNull() ?: 500
        var taps = 0
        var stepsBack = 0
        for (seed in 1..count) {
            val run = Run(seed)
            try {
                run.run()
            } catch (error: TestFailure) {
                throw TestFailure("seed $seed: ${error.message}")
            }
            taps += run.taps
            stepsBack += run.stepsBack
        }
        require(stepsBack * 100 <= taps) { "$stepsBack steps back of $taps taps" }
        println("# $count seeds, $taps taps, $stepsBack steps back")
    },
)
