package mvi.client

/**
 * The storage for the credential of a session, so that the session continues at the next start of the app.
 *
 * The credential is a secret: on Android, encrypt it with a key of the Android Keystore. The functions are called one
 * at a time, on a background thread.
 */
interface CredentialStorage {
    /**
     * Returns the credential that was saved last; null if there is none. Called before the first request.
     *
     * Throws if the storage cannot be read at present, such as one that is encrypted before the first unlock. No
     * session is created then, and the call is repeated later.
     */
    suspend fun load(): String?

    /** Saves a credential; null removes the stored one. Exceptions are reported and ignored. */
    suspend fun save(credential: String?)
}

/** Stores the credential until the process ends. */
class MemoryCredentialStorage(@Volatile private var credential: String? = null) : CredentialStorage {
    override suspend fun load(): String? = credential

    override suspend fun save(credential: String?) {
        this.credential = credential
    }
}
