package mvi.client.core

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.channels.Channel
import mvi.client.PendingStorage
import mvi.client.connection.KeptIntent

/** Reads and writes the app's storage for waiting intents. */
internal class PendingKeeper(
    private val storage: PendingStorage,
    private val name: String,
    private val report: (String) -> Unit,
) {
    /** The newest list: only that one matters. */
    private val lists = Channel<List<KeptIntent>>(Channel.CONFLATED)

    /** Returns the intents that an earlier run has kept. */
    suspend fun load(): List<KeptIntent> = try {
        storage.load(name)?.let { KeptIntent.read(it) }.orEmpty()
    } catch (error: CancellationException) {
        throw error
    } catch (error: Exception) {
        report("The kept intents cannot be read: ${error.javaClass.simpleName}")
        emptyList()
    }

    /** Saves a list soon; one that follows at once replaces it. */
    fun save(list: List<KeptIntent>) {
        lists.trySend(list)
    }

    /** Saves lists until the end. */
    suspend fun run() {
        for (list in lists) {
            try {
                storage.save(name, KeptIntent.write(list))
            } catch (error: CancellationException) {
                throw error
            } catch (error: Exception) {
                report("The waiting intents cannot be kept: ${error.javaClass.simpleName}")
            }
        }
    }

    /** Ends [run] after the last list. */
    fun close() {
        lists.close()
    }
}
