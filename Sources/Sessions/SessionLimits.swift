/// How much a client may make a server keep. Each is a hard count with an answer of its own when it is reached.
public struct SessionLimits: Sendable {
    /// Sessions in all.
    public var sessions = 100_000
    /// Stores a session.
    public var storesPerSession = 64
    /// Streams in all.
    public var streams = 16_000
    /// Streams a session; one more and the oldest goes.
    public var streamsPerSession = 4
    /// Receipts a session.
    public var receiptsPerSession = 1_000
    /// Bytes of labels that a session keeps for clients that are away.
    public var outboxBytes = 256 * 1024
    /// Labels that a session keeps for clients that are away.
    public var outboxLabels = 1_000
    /// Bytes of one encoded view state.
    public var viewStateBytes = 1024 * 1024
    /// Requests that wait, in all.
    public var waits = 256
    /// Requests that wait, a session.
    public var waitsPerSession = 2
    /// How long a request may wait.
    public var longestWait: Duration = .seconds(10)
    /// Intents of one session that may wait for their turn.
    public var queuedIntents = 1_024
    /// How long a session lives after its last request or stream.
    public var sessionLife: Duration = .seconds(24 * 3600)
    /// How long the server remembers that a session has ended.
    public var tombstoneLife: Duration = .seconds(600)
    /// How long a receipt is kept, if its session lives as long.
    public var receiptLife: Duration = .seconds(24 * 3600)
    /// A receipt younger than this is never dropped for a new one.
    public var receiptGrace: Duration = .seconds(600)
    /// A store that was not used for so long leaves memory; the next touch brings it back.
    public var passivateAfter: Duration = .seconds(300)
    /// A session that was not used for so long leaves memory once its stores have. Longer than any request is under way.
    public var evictAfter: Duration = .seconds(660)
    /// How far behind the journal may be with when a session was last used.
    public var touchInterval: Duration = .seconds(300)
    /// How many turns of a session are recorded; 0 records none.
    public var recordedTurns = 0

    /// The defaults.
    public init() {}
}
