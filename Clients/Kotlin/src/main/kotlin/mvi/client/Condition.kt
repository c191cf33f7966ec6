package mvi.client

import kotlin.time.Duration

/** The condition of the connection between a [RemoteServer] and its server. */
sealed interface Condition {
    /** No store is watched, so there is no stream. Intents are sent nevertheless. */
    data object Idle : Condition

    /** A session is being created or a stream opened, and the server has not answered yet. */
    data object Connecting : Condition

    /** The stream is open and healthy, so the shown states are current. */
    data object Live : Condition

    /** The stream was lost. The next attempt comes after this time, counted from this report. */
    data class Reconnecting(val after: Duration) : Condition

    /** The system reports no network. Intents wait. */
    data object Offline : Condition

    /** The session has too many streams, and this one was the oldest. [RemoteServer.foreground] reopens it. */
    data object Paused : Condition

    /** The server requires an identity, and there is none. Call [RemoteServer.signIn] when there is one. */
    data object SignedOut : Condition

    /** The session was ended, here or elsewhere. [RemoteServer.renewSession] begins a new one. */
    data object Ended : Condition

    /** The server refuses the client's requests for good; retries do not help. */
    data class Failed(val problem: ServerProblem) : Condition

    /** [RemoteServer.close] was called. */
    data object Closed : Condition
}
