package mvi.client.wire

import kotlin.time.Duration
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** The field `Retry-After` (RFC 9110 section 10.2.3). */
internal object RetryAfter {
    private val limit = 1.days
    private val months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(' ')

    /**
     * Returns the delay of an answer; null if it has none that can be read. A date is the server's, so it is compared
     * with the answer's own, if there is one: the device's clock may be wrong.
     *
     * @param fields the header fields, with names in lower case.
     * @param now the present time of the device in milliseconds since 1970.
     */
    fun of(fields: Map<String, String>, now: Long): Duration? {
        val text = fields["retry-after"] ?: return null
        val sent = fields["date"]?.let { secondsOfDate(it) }
        return parse(text.trim(), sent?.let { it * 1_000 } ?: now)
    }

    /**
     * Returns the delay; null if the text is neither a number of seconds nor a date in the preferred form. Numbers that
     * are too large count as a day.
     *
     * @param now the present time in milliseconds since 1970.
     */
    fun parse(text: String, now: Long): Duration? {
        if (text.isNotEmpty() && text.all { it in '0'..'9' }) {
            return minOf(text.toLongOrNull()?.seconds ?: limit, limit)
        }
        val date = secondsOfDate(text) ?: return null
        return (date * 1_000 - now).milliseconds.coerceIn(Duration.ZERO, limit)
    }

    /** Returns the seconds since 1970 of an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7). */
    private fun secondsOfDate(text: String): Long? {
        val parts = text.split(' ').filter { it.isNotEmpty() }
        if (parts.size != 6 || parts[5] != "GMT") return null
        val day = parts[1].toLongOrNull()?.takeIf { it in 1..31 } ?: return null
        val month = months.indexOf(parts[2]).takeIf { it >= 0 } ?: return null
        val year = parts[3].toLongOrNull()?.takeIf { it in 1970..9999 } ?: return null
        val clock = parts[4].split(':').map { it.toLongOrNull() ?: return null }
        if (clock.size != 3 || clock[0] !in 0..23 || clock[1] !in 0..59 || clock[2] !in 0..60) return null
        // Days since 1970, counted in years that begin in March, so that a leap day comes last.
        val shifted = if (month < 2) year - 1 else year
        val days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 +
            (153 * ((month + 10) % 12) + 2) / 5 + day - 719_469
        return ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }
}
