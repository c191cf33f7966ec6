package mvi.client.connection

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

/**
 * The delays between attempts.
 *
 * @property random returns uniformly distributed numbers from 0 to 1.
 */
internal class Pace(private val random: () -> Double) {
    /**
     * The delay before the next attempt: base × 2^attempts up to the cap, reduced by a random part of up to a half, so
     * that clients that a server lost at the same time do not return at once.
     */
    fun delay(base: Duration, attempts: Int): Duration {
        var whole = maxOf(base, FLOOR)
        var left = attempts
        while (left > 0 && whole < CAP) {
            whole *= 2
            left -= 1
        }
        return maxOf(minOf(whole, CAP) * (0.5 + 0.5 * random()), FLOOR)
    }

    /** A delay that the server requested, increased by up to a quarter. */
    fun asked(time: Duration): Duration = time.coerceIn(FLOOR, ASKED_CAP) * (1 + 0.25 * random())

    companion object {
        /** The longest delay between two attempts if the server requests none. */
        val CAP = 30.seconds

        /** The longest delay that a `Retry-After` or a `goaway` can request. */
        val ASKED_CAP = 5.minutes

        /** The shortest delay between two attempts: 16 per second, whatever the server requests. */
        val FLOOR = 60.milliseconds
    }
}
