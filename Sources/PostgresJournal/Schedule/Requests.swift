import MVI
import PostgreSQL
import SessionJournal

/// What a writer is asked for.
struct Write: Sendable {
    /// How a write is made.
    enum Work: Sendable {
        /// In a group with other appends.
        case append(JournalBatch, @Sendable (AppendResult) -> Void)
        /// One statement, in a transaction with others of its kind. `result` adds what others are to be told of it.
        case statement(
            PostgresStatement, result: @Sendable (PostgresRows, inout OutgoingNews) throws -> Completion)
        /// A transaction of its own.
        case steps(@Sendable (WriteTransaction) throws -> Completion)
        /// In a transaction with others of its kind.
        case streams(StreamNote, Done<Bool>)
    }

    let work: Work
    /// What it is about.
    let keys: [ChainKey]
    /// About how many bytes it writes.
    var bytes = 200
    /// The session in whose order its result comes; nil for none.
    var session: SessionKey?
    /// Whether sessions that its keys do not name may end by it.
    var endsSessions = false
    /// The result if nothing of it is kept, or if that is not known.
    let fail: @Sendable (StoreError, _ isUnknown: Bool) -> Completion

    /// Its place in a group of appends.
    var order: Int64 { session?.number ?? 0 }
}

/// What a reader is asked for.
enum Read: Sendable {
    /// One statement asks this and others of its kind. The answer comes with how many writes were finished before.
    case question(Question, @Sendable (_ answer: Result<ReadAnswer, StoreError>, _ seen: UInt64) -> Void)
    /// Reads by itself and hands the result over.
    case alone(@Sendable (_ reader: PostgresReader) -> Void)
}

/// What is asked again and again.
enum Question: Sendable {
    case marks([SessionKey])
    case known([TokenHash])
    case token(TokenHash)
    case news(SessionKey, since: UInt64)
    case stores(StoresQuestion)
}

/// What a question led to: its rows, or a session's.
struct ReadAnswer: Sendable {
    var rows: [PostgresRow] = []
    var session = SessionReads.Results()
}

/// What waits.
enum Request: Sendable {
    case write(Write)
    case read(Read)
}

/// What a lost connection may have changed: nothing is said of it before that is settled.
struct InDoubtWrites {
    private var keys: Set<ChainKey> = []
    private var isOfAll = false

    var isEmpty: Bool { keys.isEmpty && !isOfAll }

    mutating func insert(_ write: Write) {
        keys.formUnion(write.keys)
        // Its tokens are not known here.
        if write.endsSessions || write.keys.isEmpty { isOfAll = true }
    }

    /// Whether something that a read is about is in doubt.
    func contains(_ keys: [ChainKey]) -> Bool { isOfAll || keys.contains(where: self.keys.contains) }
}
