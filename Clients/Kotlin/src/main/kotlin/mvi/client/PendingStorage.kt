package mvi.client

/**
 * A storage for the intents that wait for their answers, so that they survive the end of the app, such as a database or
 * a file.
 *
 * It has the text of intents: encrypt it if that is private. One [RemoteServer] at a time may use a name of it. The
 * functions are called one at a time, on a background thread. If one throws, that is reported and nothing is kept.
 */
interface PendingStorage {
    /** Returns the text that was saved last under a name; null if there is none. Called once, at the start. */
    suspend fun load(name: String): String?

    /** Saves a text under a name, in place of the one before. */
    suspend fun save(name: String, text: String)
}
