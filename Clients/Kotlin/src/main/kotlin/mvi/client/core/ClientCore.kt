package mvi.client.core

import kotlin.time.Duration
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.launch
import kotlinx.coroutines.suspendCancellableCoroutine
import mvi.client.Condition
import mvi.client.CredentialStorage
import mvi.client.IntentReceipt
import mvi.client.RemoteError
import mvi.client.SendCompletion
import mvi.client.Transport
import mvi.client.TransportEvent
import mvi.client.WaitingIntent
import mvi.client.connection.Command
import mvi.client.connection.Connection
import mvi.client.connection.ConnectionSettings
import mvi.client.connection.Delivery
import mvi.client.connection.Input
import mvi.client.connection.Outcome
import mvi.client.connection.KeptIntent
import mvi.client.connection.PendingIntent
import mvi.client.connection.Progress

/**
 * Drives a [Connection]: passes inputs to it and performs its commands.
 *
 * One thread at a time performs commands; other threads add theirs to the queue. Commands are thus performed in their
 * order, without the lock.
 */
internal class ClientCore(
    settings: ConnectionSettings,
    private val transport: Transport,
    private val elapsed: () -> Duration,
    private val storage: CredentialStorage,
    private val identity: (suspend () -> String?)?,
    random: () -> Double,
    private val report: (String) -> Unit,
    private val keeper: PendingKeeper? = null,
    abandoned: (WaitingIntent, RemoteError) -> Unit = { _, _ -> },
) {
    /**
     * The callbacks of a watcher of a feature.
     *
     * @property finish called when the client is closed.
     */
    class Sink(val deliver: (Delivery) -> Unit, val finish: () -> Unit)

    private class IntentCaller(val progress: ((Progress) -> Unit)?, val done: (Outcome) -> Unit)

    private class Watcher(val sink: Sink) {
        var count = 1
    }

    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val lock = Any()
    private val start = elapsed()

    // Protected by the lock.
    private val connection = Connection(settings, random)
    private val commands = ArrayDeque<Command>()
    private var isRunning = false
    private var timerDeadline: Duration? = null
    private var lastNumber = 0L
    private val intents = HashMap<Long, IntentCaller>()
    private val watchers = HashMap<String, LinkedHashMap<Long, Watcher>>()
    private val listeners = LinkedHashMap<Long, (Condition) -> Unit>()
    private var condition: Condition = Condition.Idle

    private val shownIntents = MutableStateFlow<List<WaitingIntent>>(emptyList())

    /** The intents that wait for their answers, in order. */
    val waitingIntents: StateFlow<List<WaitingIntent>> = shownIntents.asStateFlow()

    @Volatile
    var isClosed = false
        private set

    // Used by the thread that performs commands.
    private var timer: Job? = null
    private var lastStorageCall: Job? = null
    private val kept = KeptIntents({ intent -> synchronized(lock) { intent.mayHaveRun } }, abandoned)

    init {
        if (keeper != null) {
            scope.launch {
                restore(keeper.load())
                keeper.run()
            }
        }
    }

    fun now(): Duration = elapsed() - start

    // Inputs

    /** Passes an input to the connection. Can be called from any thread, also by commands. */
    fun handle(input: Input) {
        val now = now()
        val runs = synchronized(lock) {
            if (input == Input.Tick) timerDeadline = null
            take(input, now)
        }
        if (runs) run()
    }

    /** Returns true if the caller must perform the commands. */
    private fun take(input: Input, now: Duration): Boolean {
        commands += connection.handle(input, now)
        return !isRunning.also { isRunning = true }
    }

    private fun run() {
        while (true) {
            var deadline: Duration? = null
            val command = synchronized(lock) {
                val command = commands.removeFirstOrNull()
                if (command == null) {
                    deadline = connection.deadline
                    if (deadline == timerDeadline) {
                        isRunning = false
                        return
                    }
                    timerDeadline = deadline
                }
                command
            }
            if (command == null) setTimer(deadline) else perform(command)
        }
    }

    private fun setTimer(deadline: Duration?) {
        timer?.cancel()
        timer = deadline?.let {
            scope.launch {
                delay(it - now())
                handle(Input.Tick)
            }
        }
    }

    // Commands

    private fun perform(command: Command) {
        try {
            run(command)
        } catch (error: Exception) {
            // An exception of the app's callbacks must not stop the client.
            report("A callback failed: $error")
        }
    }

    private fun run(command: Command) {
        when (command) {
            is Command.Start -> transport.start(command.id, command.request) { event ->
                when (event) {
                    is TransportEvent.Head -> handle(Input.Head(command.id, event.answer))
                    is TransportEvent.Piece -> handle(Input.Piece(command.id, event.bytes))
                    is TransportEvent.End -> handle(Input.End(command.id, event.failure))
                }
            }
            is Command.Cut -> transport.cut(command.id)
            Command.LoadCredential -> callStorage { handle(load()) }
            is Command.SaveCredential -> callStorage { save(command.credential) }
            Command.AskIdentity -> scope.launch { handle(Input.Identity(askIdentity())) }
            is Command.Deliver -> {
                val sinks = synchronized(lock) { watchers[command.feature]?.values?.map { it.sink }.orEmpty() }
                for (sink in sinks) sink.deliver(command.delivery)
            }
            is Command.Finish -> synchronized(lock) { intents.remove(command.intent) }?.let { caller ->
                val outcome = command.outcome
                if (outcome is Outcome.Failed) caller.progress?.invoke(Progress.Failed(outcome.error))
                caller.done(outcome)
            }
            is Command.Tell -> synchronized(lock) { intents[command.intent] }?.progress?.invoke(command.progress)
            is Command.Show -> {
                val all = synchronized(lock) {
                    condition = command.condition
                    listeners.values.toList()
                }
                for (listener in all) listener(command.condition)
            }
            is Command.Restore -> kept.restore(command.intents)
            is Command.Keep -> keeper?.save(command.intents)
            is Command.Call -> command.call()
            is Command.ShowWaiting -> shownIntents.value = command.intents
            is Command.Report -> report(command.text)
        }
    }

    private suspend fun load(): Input = try {
        Input.Credential(storage.load())
    } catch (error: CancellationException) {
        throw error
    } catch (_: Exception) {
        Input.CredentialUnreadable
    }

    private suspend fun save(credential: String?) {
        try {
            storage.save(credential)
        } catch (error: CancellationException) {
            throw error
        } catch (error: Exception) {
            report("The credential storage failed to save the credential: ${error.javaClass.simpleName}")
        }
    }

    private suspend fun askIdentity(): String? = try {
        identity?.invoke()
    } catch (error: CancellationException) {
        throw error
    } catch (error: Exception) {
        report("The identity callback failed: ${error.javaClass.simpleName}")
        null
    }

    /** Calls the storage, one call after the other in the order of the commands. */
    private fun callStorage(call: suspend () -> Unit) {
        val last = lastStorageCall
        lastStorageCall = scope.launch {
            last?.join()
            call()
        }
    }

    // Requests of the app

    /** Calls `call` after a time, from any thread. */
    fun after(duration: Duration, call: () -> Unit) {
        scope.launch {
            delay(duration)
            call()
        }
    }

    /** Runs a coroutine of the client's own. */
    fun launch(block: suspend () -> Unit): Job = scope.launch { block() }

    fun number(): Long = synchronized(lock) { nextNumber() }

    private fun nextNumber(): Long {
        lastNumber += 1
        return lastNumber
    }

    /** Adds a watcher of a feature. Its sink is called while it has called [watch] more often than [unwatch]. */
    fun watch(feature: String, watcher: Long, sink: Sink) {
        val now = now()
        var runs = false
        val isOver = synchronized(lock) {
            if (isClosed) return@synchronized true
            val all = watchers.getOrPut(feature) { LinkedHashMap() }
            val present = all[watcher]
            if (present != null) {
                present.count += 1
            } else {
                all[watcher] = Watcher(sink)
                runs = take(Input.Watch(feature), now)
            }
            false
        }
        if (isOver) sink.finish()
        if (runs) run()
    }

    fun unwatch(feature: String, watcher: Long) {
        val now = now()
        val runs = synchronized(lock) {
            val all = watchers[feature] ?: return
            val present = all[watcher] ?: return
            present.count -= 1
            if (present.count > 0) return
            all.remove(watcher)
            if (all.isNotEmpty()) return
            watchers.remove(feature)
            take(Input.Unwatch(feature), now)
        }
        if (runs) run()
    }

    /**
     * Enqueues an intent, or without a body the disposal of a store. `done` is called once, from any thread.
     *
     * @param progress called before; null if nothing is predicted.
     * @return a number to cancel it with.
     */
    fun send(
        body: String?,
        feature: String,
        key: String,
        completion: SendCompletion,
        progress: ((Progress) -> Unit)? = null,
        done: (Outcome) -> Unit,
    ): Long {
        val now = now()
        var runs = false
        val number = synchronized(lock) {
            nextNumber().also { number ->
                intents[number] = IntentCaller(progress, done)
                val intent = PendingIntent(number, feature, body, key, completion, isPredicted = progress != null)
                runs = take(Input.Send(intent), now)
            }
        }
        if (runs) run()
        return number
    }

    /** Enqueues an intent as above and waits for its answer. Throws its error. */
    suspend fun sendAndWait(
        body: String?,
        feature: String,
        key: String,
        completion: SendCompletion,
        progress: ((Progress) -> Unit)?,
    ): IntentReceipt = suspendCancellableCoroutine { continuation ->
        val number = send(body, feature, key, completion, progress) { outcome ->
            continuation.resumeWith(
                when (outcome) {
                    is Outcome.Committed -> Result.success(outcome.receipt)
                    is Outcome.Failed -> Result.failure(outcome.error)
                },
            )
        }
        continuation.invokeOnCancellation { cancel(number) }
    }

    /** Sends the intents that an earlier run of the app has kept before those of this run. */
    private fun restore(all: List<KeptIntent>) {
        val now = now()
        val runs = synchronized(lock) {
            val restored = all.map { PendingIntent(nextNumber(), it) }
            for (each in restored) {
                intents[each.id] = IntentCaller({ kept.note(it, each) }, { kept.finish(it, each) })
            }
            take(Input.Restored(restored), now)
        }
        if (runs) run()
    }

    /** Adds a store that predicts intents: it shows those that an earlier run of the app has kept. */
    fun read(feature: String, reader: KeptIntents.Reader) {
        if (keeper == null) return
        val runs = synchronized(lock) {
            commands += Command.Call { kept.add(reader, feature) }
            !isRunning.also { isRunning = true }
        }
        if (runs) run()
    }

    private fun cancel(number: Long) {
        val caller = synchronized(lock) { intents.remove(number) } ?: return
        caller.progress?.invoke(Progress.Canceled)
        handle(Input.CancelIntent(number))
    }

    /** Calls `listener` with the present condition and each later one. */
    fun listen(listener: (Condition) -> Unit) {
        val present = synchronized(lock) {
            listeners[nextNumber()] = listener
            condition
        }
        listener(present)
    }

    fun close() {
        handle(Input.Close)
        val all = synchronized(lock) {
            isClosed = true
            watchers.values.flatMap { it.values }.also { watchers.clear() }
        }
        for (watcher in all) watcher.sink.finish()
        keeper?.close()
        transport.close()
    }
}
