package mvi.client

/** The availability of a store. */
enum class Availability {
    /** Nothing was received yet. */
    UNKNOWN,

    /** A state was shown. See [RemoteServer.condition] for whether it is current. */
    SHOWN,

    /**
     * The app is older than the server: the last state could not be read. The one before stays shown, without
     * predictions, and [RemoteStore.failure] has the reason.
     */
    OUTDATED,

    /** The server disposed of the store. If there is a new one, it is shown. */
    ENDED,

    /** The user may not see the store. */
    DENIED,

    /** The server has no such feature, or nothing under its key. */
    MISSING,
}
