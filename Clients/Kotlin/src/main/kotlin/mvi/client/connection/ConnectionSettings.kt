package mvi.client.connection

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import mvi.client.DeltaFormat

/** The settings of a [Connection]. */
internal data class ConnectionSettings(
    /** True if the session's credential is a cookie, as in a browser, instead of a token. */
    val usesCookie: Boolean = false,
    val delta: DeltaFormat? = null,
    /** The language tag and the time zone to tell the server. */
    val locale: String? = null,
    val timeZone: String? = null,
    /** True if there is an identity callback. */
    val hasIdentity: Boolean = false,
    /** The time after which an intent is abandoned. */
    val patience: Duration = 5.minutes,
    /** The maximum number of waiting intents. */
    val queueLimit: Int = 1_000,
    /** True if waiting intents are kept over the end of the app. */
    val keepsIntents: Boolean = false,
    /** The time limit of a request other than a stream. */
    val answerTime: Duration = 30.seconds,
    /** The time in which watched stores are gathered into one stream. */
    val gatherTime: Duration = 5.milliseconds,
    /** The delay before the first retry of a request other than a stream. */
    val retryBase: Duration = 500.milliseconds,
)
