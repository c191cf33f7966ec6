package mvi.client.connection

import java.util.TreeSet
import kotlin.time.Duration
import mvi.client.Condition
import mvi.client.HttpAnswer
import mvi.client.HttpField
import mvi.client.HttpRequest
import mvi.client.RemoteError
import mvi.client.TransportFailure
import mvi.client.wire.Bytes

/**
 * The logic of a client: inputs go in, commands come out.
 *
 * It has no clock, lock, input or output of its own; `ClientCore` and tests drive it, one call at a time. After each
 * input, the session, the stream and the intents are advanced according to their states.
 *
 * @param random returns uniformly distributed numbers from 0 to 1.
 * @param wallTime returns the milliseconds since 1970; a clock that may be set.
 */
internal class Connection(
    val settings: ConnectionSettings,
    random: () -> Double,
    val wallTime: () -> Long = System::currentTimeMillis,
) {
    val pace = Pace(random)

    /** The time of the present input, since a fixed point. */
    var now = Duration.ZERO

    /** The commands that result from the present input so far. */
    var commands = mutableListOf<Command>()

    val watched = TreeSet<String>()

    /** True if requests may be sent: the network's signal said so, or the app has called it in doubt since. */
    var isOnline = true

    /** The network's last signal. */
    private var isSignaled = true
    var isClosed = false
    var session = SessionState()
    val stream = StreamState()
    val intents = IntentState().apply { isRestoring = settings.keepsIntents }

    /** The pending requests other than streams. */
    val exchanges = LinkedHashMap<Long, Exchange>()

    private var lastExchange = 0L
    private var shownCondition: Condition = Condition.Idle
    private var shownNextTry: Duration? = null

    /** The purpose of a request other than a stream. */
    sealed interface Purpose {
        data object MakeSession : Purpose
        data object PutIdentity : Purpose
        data object PutSettings : Purpose
        data object EndSession : Purpose
        data object Intent : Purpose

        /** A check of one feature after a stream of several was refused. */
        data class Look(val feature: String) : Purpose
    }

    /**
     * A pending request and the received part of its answer.
     *
     * @property generation the generation of the credential that the request was sent with.
     */
    class Exchange(val purpose: Purpose, val generation: Int, val deadline: Duration) {
        var head: HttpAnswer? = null
        val body = Bytes()
    }

    /** The end of a request other than a stream. */
    sealed interface Answered {
        class Whole(val answer: HttpAnswer) : Answered
        class Failed(val failure: TransportFailure) : Answered
    }

    /**
     * Processes an input that arrived at `time` and returns the commands to perform, in order. Inputs of canceled
     * requests are ignored.
     */
    fun handle(input: Input, time: Duration): List<Command> {
        now = maxOf(now, time)
        if (!isClosed) {
            take(input)
            if (!isClosed) advance()
            // What a closed client gives up is for the next run of the app.
            if (!isClosed) keepIntents()
            showCondition()
            // First: whoever learns an intent's result finds it gone.
            intents.takeShown()?.let { commands.add(0, Command.ShowWaiting(it)) }
        } else if (input is Input.Send) {
            finish(input.intent, Outcome.Failed(closedError()))
        }
        return commands.also { commands = mutableListOf() }
    }

    /** The time of the next [Input.Tick]; null if none is needed before another input. */
    val deadline: Duration?
        get() {
            if (isClosed) return null
            val times = exchanges.values.map { it.deadline } +
                listOfNotNull(session.deadline, streamDeadline, intentDeadline)
            // Expired times wait for another input, such as an answer or a network.
            return times.filter { it > now }.minOrNull()
        }

    private fun take(input: Input) {
        when (input) {
            is Input.Watch -> watch(input.feature)
            is Input.Unwatch -> unwatch(input.feature)
            is Input.Send -> enqueue(input.intent)
            is Input.Restored -> restore(input.intents)
            is Input.CancelIntent -> cancelIntent(input.id)
            is Input.Online -> changeOnline(input.isOnline)
            Input.Foreground -> {
                // The signal may be wrong: attempts tell.
                isOnline = true
                retryNow(includingPaused = true)
            }
            is Input.SignIn -> signIn(input.keepsStores)
            Input.RenewSession -> renewSession()
            Input.Close -> close()
            is Input.Credential -> loaded(input.credential)
            Input.CredentialUnreadable -> notLoaded()
            is Input.Identity -> identified(input.identity)
            is Input.Head ->
                if (input.id == stream.open?.id) streamHead(input.answer) else exchanges[input.id]?.head = input.answer
            is Input.Piece ->
                if (input.id == stream.open?.id) streamBytes(input.bytes) else gather(input.bytes, input.id)
            is Input.End ->
                if (input.id == stream.open?.id) {
                    streamEnd(input.failure)
                } else {
                    exchanges.remove(input.id)?.let { finish(it, input.failure) }
                }
            Input.Tick -> {}
        }
    }

    private fun advance() {
        cutSlowExchanges()
        expireIntents()
        checkWatchdog()
        advanceSession()
        advanceIntents()
        advanceStream()
    }

    // Requests

    fun start(purpose: Purpose, request: HttpRequest): Long {
        val id = newExchange()
        exchanges[id] = Exchange(purpose, session.generation, now + settings.answerTime)
        commands += Command.Start(id, request)
        return id
    }

    fun newExchange(): Long {
        lastExchange += 1
        return lastExchange
    }

    /** Returns a request with the session's credential. */
    fun request(
        method: String,
        target: String,
        fields: List<HttpField> = emptyList(),
        body: String? = null,
    ): HttpRequest {
        val all = mutableListOf<HttpField>()
        session.token?.let {
            all += if (settings.usesCookie) HttpField("Cookie", it) else HttpField("Authorization", "Bearer $it")
        }
        all += fields
        if (body != null) all += HttpField("Content-Type", "application/json")
        return HttpRequest(method, target, all, body)
    }

    private fun gather(bytes: ByteArray, id: Long) {
        val exchange = exchanges[id] ?: return
        if (exchange.body.size + bytes.size <= ANSWER_LIMIT) return exchange.body.add(bytes)
        commands += Command.Cut(id)
        exchanges.remove(id)
        finish(exchange, TransportFailure(message = "The answer is too long."))
    }

    private fun cutSlowExchanges() {
        for ((id, exchange) in exchanges.toList()) {
            if (exchange.deadline > now || exchanges.remove(id) == null) continue
            commands += Command.Cut(id)
            finish(exchange, TransportFailure(message = "The server did not answer in time."))
        }
    }

    private fun finish(exchange: Exchange, failure: TransportFailure?) {
        val head = exchange.head
        val result = when {
            failure != null -> Answered.Failed(failure)
            head != null -> Answered.Whole(head.with(exchange.body.copy()))
            else -> Answered.Failed(TransportFailure(message = "The answer has no head."))
        }
        when (val purpose = exchange.purpose) {
            Purpose.MakeSession -> sessionMade(result)
            Purpose.PutIdentity -> identityPut(result)
            // The server may be older, and the session goes on without.
            Purpose.PutSettings -> {}
            Purpose.EndSession -> sessionDeleted(result)
            Purpose.Intent -> intentAnswered(result, exchange.generation)
            is Purpose.Look -> looked(purpose.feature, result)
        }
    }

    // Requests of the app

    private fun changeOnline(isOnline: Boolean) {
        if (isOnline == isSignaled) return
        isSignaled = isOnline
        this.isOnline = isOnline
        if (isOnline) retryNow(includingPaused = false) else closeStream()
    }

    /** Ends delays that the client chose. Delays that the server requested are kept for intents. */
    private fun retryNow(includingPaused: Boolean) {
        session.retryNow(now)
        retryStreamNow(includingPaused)
        intents.retryNow(now)
    }

    private fun close() {
        isClosed = true
        closeStream()
        cutExchanges()
        failIntents(RemoteError.Code.CLOSED, CLOSED_TEXT)
    }

    fun cutExchanges() {
        for (id in exchanges.keys) commands += Command.Cut(id)
        exchanges.clear()
    }

    // The condition

    private fun showCondition() {
        val (condition, nextTry) = presentCondition()
        val isShown = if (condition is Condition.Reconnecting) nextTry == shownNextTry else condition == shownCondition
        if (isShown) return
        shownCondition = condition
        shownNextTry = nextTry
        commands += Command.Show(condition)
    }

    /** The condition, and the time of the next attempt while there is none. */
    private fun presentCondition(): Pair<Condition, Duration?> {
        if (isClosed) return Condition.Closed to null
        when (val phase = session.phase) {
            SessionPhase.Ended -> return Condition.Ended to null
            SessionPhase.SignedOut -> return Condition.SignedOut to null
            is SessionPhase.Failed -> return Condition.Failed(phase.problem) to null
            else -> {}
        }
        if (watched.isEmpty()) return Condition.Idle to null
        if (!isOnline) return Condition.Offline to null
        return when (val phase = stream.phase) {
            StreamPhase.Paused -> Condition.Paused to null
            is StreamPhase.Failed -> Condition.Failed(phase.problem) to null
            is StreamPhase.Waiting -> Condition.Reconnecting(phase.until - now) to phase.until
            is StreamPhase.Open -> (if (phase.stream.isLive) Condition.Live else Condition.Connecting) to null
            StreamPhase.Closed -> {
                val waiting = session.phase as? SessionPhase.Waiting
                when {
                    waiting != null -> Condition.Reconnecting(waiting.until - now) to waiting.until
                    streamFeatures.isEmpty() -> Condition.Idle to null
                    else -> Condition.Connecting to null
                }
            }
        }
    }

    companion object {
        /** The maximum number of bytes of an answer other than a stream. */
        const val ANSWER_LIMIT = 4 shl 20

        const val CLOSED_TEXT = "The client was closed."

        fun closedError() = RemoteError(RemoteError.Code.CLOSED, CLOSED_TEXT)
    }
}
