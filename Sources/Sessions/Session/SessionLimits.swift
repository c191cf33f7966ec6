import SessionJournal

/// The limits of what a client can make a server store. Each is a hard limit with its own answer.
package struct SessionLimits: Sendable {
    /// Sessions in total.
    package var sessions = 100_000
    /// Stores per session.
    package var storesPerSession = 1_000
    /// Stores of a session in memory, and those that one stream may name. Beyond it, the least recently used leave memory.
    package var loadedStores = 64
    /// Streams in total.
    package var streams = 16_000
    /// Streams per session. One more closes the oldest.
    package var streamsPerSession = 4
    /// Receipts per session.
    package var receiptsPerSession = 1_000
    /// Bytes of receipts per session, approximately as in memory.
    package var receiptBytes = 512 * 1024
    /// Bytes of receipts of all callers of a space, as above. Each of them has its own `receiptsPerSession`.
    package var spaceReceiptBytes = 16 * 1024 * 1024
    /// Bytes of labels in a session's outbox.
    package var outboxBytes = 256 * 1024
    /// Labels in a session's outbox.
    package var outboxLabels = 1_000
    /// Labels in a space's outbox.
    package var spaceOutboxLabels = 10_000
    /// Bytes of one state, and of its view state, as JSON.
    package var stateBytes = 1024 * 1024
    /// Waiting requests in total.
    package var waits = 256
    /// Waiting requests from one network: an eighth of all.
    var waitsPerNetwork: Int { max(waits / 8, min(waits, waitsPerSession)) }
    /// Waiting requests per session.
    package var waitsPerSession = 2
    /// The maximum wait of a request.
    package var longestWait: Duration = .seconds(10)
    /// Intents of one session that may wait for their turn.
    package var queuedIntents = 1_024
    /// Intents that may wait for their turn in a space: of all its callers, of one, and of one address.
    package var queuedInSpace = 4_096
    package var queuedOfCaller = 16
    package var queuedOfAddress = 256
    /// The time after which a thread passes a session's queue on.
    package var runnerTime: Duration = .milliseconds(5)
    /// The rate at which a session may send intents; nil for no limit.
    package var intentRate = Rate(perSecond: 100, burstSeconds: 5)
    /// Reminders per session.
    package var reminders = 64
    /// The maximum time until a reminder.
    package var longestReminder: Duration = StoredReminder.sessionLife
    /// The maximum time of an intent's asynchronous check.
    package var longestCheck: Duration = .seconds(5)
    /// Intents of one session with a running check, and the same number that wait for these.
    package var runningChecks = 64
    /// The lifetime of an anonymous session after its last request or stream.
    package var sessionLife: Duration = .seconds(24 * 3600)
    /// The lifetime of a signed-in client's credential after its last request or stream, and of a session that only it
    /// uses.
    package var credentialLife: Duration = .seconds(30 * 24 * 3600)
    /// The lifetime of a session that a subject's devices share, after its last request or stream.
    package var subjectLife: Duration = .seconds(400 * 24 * 3600)
    /// The lifetime of a space after its last request or stream, if no shared feature has a longer one.
    package var spaceLife: Duration = .seconds(90 * 24 * 3600)
    /// The time for which the end of a session is recorded.
    package var tombstoneLife: Duration = .seconds(600)
    /// The lifetime of a receipt, if its session lives as long.
    package var receiptLife: Duration = .seconds(24 * 3600)
    /// The age up to which a receipt is never dropped for a new one.
    package var receiptGrace: Duration = .seconds(600)
    /// The same where the receipts of a space take all their bytes.
    package var spaceReceiptGrace: Duration = .seconds(60)
    /// The time after which an unused store is passivated. The next use loads it.
    package var passivateAfter: Duration = .seconds(300)
    /// The time after which an unused session is evicted, once its stores are. Longer than the time of any request.
    package var evictAfter: Duration = .seconds(660)
    /// The maximum delay with which the journal learns of a session's last use.
    package var touchInterval: Duration = .seconds(300)
    /// The recorded turns of a session.
    package var recordings = RecordingLimit.none
    /// The time for which a turn's recording waits for others before it is written; zero to write it at once.
    package var recordingDelay: Duration = .seconds(1)

    /// The delay with which the journal learns of a session's last use: a day for long lifetimes, less for short ones.
    var touchDelays: PerLifeClass {
        PerLifeClass(
            anonymous: min(sessionLife / 10, touchInterval), unshared: min(credentialLife / 10, Self.day),
            shared: min(subjectLife / 10, Self.day), space: min(spaceLife / 10, Self.day))
    }

    /// The lifetime of a session after its last use. One that has only one credential outlives it a little: its client
    /// is told to sign in again.
    var lives: PerLifeClass {
        PerLifeClass(
            anonymous: sessionLife, unshared: credentialLife + min(credentialLife / 10, Self.day), shared: subjectLife,
            space: spaceLife)
    }

    /// The maximum number of spaces that a session's clients make in an hour.
    package var newSpacesPerHour = 32

    private static let day: Duration = .seconds(24 * 3600)
    /// The delay with which the journal learns of a store's last use.
    static var storeTouchDelay: Duration { day }
    /// A lifetime without an end: 200 years, since times are nanoseconds since 1970 in 64 bits.
    package static let forever: Duration = .seconds(200 * 365 * 24 * 3600)

    package init() {}
}
