import SessionJournal

/// How much a client may make a server keep. Each is a hard count with an answer of its own when it is reached.
package struct SessionLimits: Sendable {
    /// Sessions in all.
    package var sessions = 100_000
    /// Stores a session.
    package var storesPerSession = 64
    /// Streams in all.
    package var streams = 16_000
    /// Streams a session; one more and the oldest goes.
    package var streamsPerSession = 4
    /// Receipts a session.
    package var receiptsPerSession = 1_000
    /// Bytes of receipts a session, about as they take in memory.
    package var receiptBytes = 512 * 1024
    /// Bytes of labels that a session keeps for clients that are away.
    package var outboxBytes = 256 * 1024
    /// Labels that a session keeps for clients that are away.
    package var outboxLabels = 1_000
    /// Bytes of one state, and of its view state, as JSON.
    package var stateBytes = 1024 * 1024
    /// Requests that wait, in all.
    package var waits = 256
    /// Requests that wait, of clients of one network: an eighth of all.
    var waitsPerNetwork: Int { max(waits / 8, min(waits, waitsPerSession)) }
    /// Requests that wait, a session.
    package var waitsPerSession = 2
    /// How long a request may wait.
    package var longestWait: Duration = .seconds(10)
    /// Intents of one session that may wait for their turn.
    package var queuedIntents = 1_024
    /// After how long a thread that runs a session's queue hands it on.
    package var runnerTime: Duration = .milliseconds(5)
    /// How often a session may send intents; nil for as often as it likes.
    package var intentRate = Rate(perSecond: 100, burstSeconds: 5)
    /// Reminders a session.
    package var reminders = 64
    /// How far ahead a reminder may be.
    package var longestReminder: Duration = StoredReminder.sessionLife
    /// How long an asynchronous check of an intent may take.
    package var longestCheck: Duration = .seconds(5)
    /// Intents of one session whose checks run, and as many that wait for these.
    package var runningChecks = 64
    /// How long a session lives after its last request or stream.
    package var sessionLife: Duration = .seconds(24 * 3600)
    /// How long the server remembers that a session has ended.
    package var tombstoneLife: Duration = .seconds(600)
    /// How long a receipt is kept, if its session lives as long.
    package var receiptLife: Duration = .seconds(24 * 3600)
    /// A receipt younger than this is never dropped for a new one.
    package var receiptGrace: Duration = .seconds(600)
    /// A store that was not used for so long leaves memory; the next touch brings it back.
    package var passivateAfter: Duration = .seconds(300)
    /// A session that was not used for so long leaves memory once its stores have. Longer than any request is under way.
    package var evictAfter: Duration = .seconds(660)
    /// How far behind the journal may be with when a session was last used.
    package var touchInterval: Duration = .seconds(300)
    /// How many turns of a session are recorded; 0 records none.
    package var recordedTurns = 0

    /// How far behind the journal may be with when a session was last used: less where sessions live shortly.
    var touchDelay: Duration { min(sessionLife / 10, touchInterval) }

    /// The defaults.
    package init() {}
}
