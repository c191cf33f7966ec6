import Dispatch
import Locking
import Logging
import SQLite
import SessionJournal

/// What the journal's threads share.
final class Engine: Sendable {
    /// What can be asked from any thread.
    struct Status {
        var trouble: JournalFailure?
        var statistics = JournalStatistics()
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    let files: JournalFiles
    let options: JournalOptions
    let logger: Logger
    let lanes: Lanes
    let queue: WriterQueue
    let reads: ReadQueue
    let doubt = Lock(Doubt())
    let status = Lock(Status())

    init(folder: String, options: JournalOptions, logger: Logger) throws(DatabaseThreadError) {
        files = JournalFiles(folder: folder)
        self.options = options
        self.logger = logger
        lanes = try Lanes(count: options.lanes)
        let reads = ReadQueue(limit: options.waitingReads)
        self.reads = reads
        queue = WriterQueue(items: options.waitingItems, bytes: options.waitingBytes) { reads.wake() }
    }

    /// Hands a result over that nobody's order depends on.
    func deliver(_ session: SessionKey? = nil, _ body: @escaping @Sendable () -> Void) {
        lanes.hand([.other(body)], to: session.map(lanes.index) ?? 0)
    }

    /// What the threads do last: nobody is waited for after it.
    func ended() {
        lanes.end()
        let waiters = status.withLock { status -> [CheckedContinuation<Void, Never>] in
            status.hasEnded = true
            status.trouble = .closed
            defer { status.endWaiters = [] }
            return status.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = status.withLock { status in
                if !status.hasEnded { status.endWaiters.append(continuation) }
                return status.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}

/// What a transaction was about whose commit failed in a way that may have left it in the log. Until another was written
/// over it nothing is said of these: after a crash it might turn out to be kept.
struct Doubt {
    var sessions: Set<SessionKey> = []
    var tokens: Set<TokenHash> = []
    /// Nobody knows which sessions.
    var isOfAll = false

    var isEmpty: Bool { sessions.isEmpty && tokens.isEmpty && !isOfAll }

    func touches(_ session: SessionKey?, _ token: TokenHash?) -> Bool {
        isOfAll || session.map(sessions.contains) == true || token.map(tokens.contains) == true
    }
}
