package mvi.client.connection

import kotlin.time.Duration
import mvi.client.IntentReceipt
import mvi.client.SendCompletion
import mvi.client.WaitingIntent

/**
 * An intent, or the disposal of a store, that has no answer yet.
 *
 * @property id the client's internal number of the intent.
 * @property body the intent as JSON; null to dispose of the store.
 * @property key the idempotency key, which is the same for all attempts.
 * @property isPredicted true if its caller wants to know its progress.
 */
internal class PendingIntent(
    val id: Long,
    val feature: String,
    val body: String?,
    val key: String,
    val completion: SendCompletion = SendCompletion.COMMITTED,
    val isPredicted: Boolean = false,
) {
    /**
     * The owner that an earlier run of the app has kept it for; null once that is known to be the client's session, and
     * for an intent of this run.
     */
    var owner: IntentOwner? = null

    /** The time at which it is abandoned after another start of the app, in milliseconds since 1970. */
    var until = 0L

    /** Returns an intent that an earlier run of the app has kept. */
    constructor(id: Long, kept: KeptIntent) : this(id, kept.feature, kept.body, kept.key, isPredicted = true) {
        owner = kept.owner
        until = kept.until
        mayHaveRun = kept.mayHaveRun
    }

    /** What the app sees of it; null for a disposal. */
    val shown = body?.let { WaitingIntent(feature, it, key) }

    /** The time at which the intent is abandoned; set when it is enqueued. */
    var deadline = Duration.ZERO
    var attempts = 0

    /** The number of sessions created for the intent because the previous one was unknown. */
    var renewals = 0

    /** True if the intent was sent for a session that will be replaced. It then runs only for the same user. */
    var isOfFormerSession = false

    /** True if an attempt ended without an answer, so the intent may have run. */
    var mayHaveRun = false
}

/** A committed intent whose caller waits until its store shows it. */
internal class ShownWait(val intent: PendingIntent, val receipt: IntentReceipt)

/** The intents without an answer, in the order in which they were sent. */
internal class IntentState {
    val queue = ArrayDeque<PendingIntent>()

    /** The request of the first intent, if it is in flight. */
    var inFlight: Long? = null

    /** The time of the next attempt for the first intent. */
    var nextTry: Duration? = null

    /** True if the server requested that time. */
    var isAskedTo = false

    /** True if the intents that an earlier run of the app has kept are unread. They go first. */
    var isRestoring = false

    /** The list that the storage has. */
    private var kept = emptyList<KeptIntent>()

    /** The committed intents that are not shown yet. */
    val shownWaits = mutableListOf<ShownWait>()

    /** The number of intents that were shown last, and the last of them. */
    private var shownCount = 0
    private var shownLast: PendingIntent? = null

    /** Returns the intents for the app if they have changed since the last call. They are added at the end only. */
    fun takeShown(): List<WaitingIntent>? {
        val last = queue.lastOrNull()
        if (queue.size == shownCount && last === shownLast) return null
        shownCount = queue.size
        shownLast = last
        return queue.mapNotNull { it.shown }
    }

    /** Notes what the storage has. */
    fun noteKept(list: List<KeptIntent>) {
        kept = list
    }

    /** Returns what the storage must have, if that differs from what it has. */
    fun takeKept(list: List<KeptIntent>): List<KeptIntent>? {
        if (list == kept) return null
        noteKept(list)
        return list
    }

    fun retryNow(now: Duration) {
        if (!isAskedTo && nextTry != null) nextTry = now
    }
}
