import MVI
import PostgreSQL
import SessionJournal

/// A request to a writer.
struct Write: Sendable {
    /// The kind of a write.
    enum Work: Sendable {
        /// An append, in a group with others.
        case append(JournalBatch, @Sendable (AppendResult) -> Void)
        /// One statement, in a transaction with others of its kind. `result` adds the news for other processes.
        case statement(
            PostgresStatement, result: @Sendable (PostgresRows, inout OutgoingNews) throws -> Completion)
        /// Its own transaction.
        case steps(@Sendable (WriteTransaction) throws -> Completion)
        /// In a transaction with others of its kind.
        case streams(StreamNote, Done<Bool>)
    }

    let work: Work
    /// The keys that order it.
    let keys: [ChainKey]
    /// The approximate number of bytes that it writes.
    var bytes = 200
    /// The session whose results define its order; nil for none.
    var session: SessionKey?
    /// True if it may end sessions that its keys do not name.
    var endsSessions = false
    /// Returns the result if nothing was stored, or if that is unknown.
    let fail: @Sendable (StoreError, _ isUnknown: Bool) -> Completion

    /// Its position in a group of appends.
    var order: Int64 { session?.number ?? 0 }
}

/// A request to a reader.
enum Read: Sendable {
    /// A question for a statement with others of its kind. The answer has the number of writes finished before.
    case question(Question, @Sendable (_ answer: Result<ReadAnswer, StoreError>, _ seen: UInt64) -> Void)
    /// Reads on its own and delivers the result.
    case alone(@Sendable (_ reader: PostgresReader) -> Void)

    var isQuestion: Bool { if case .question = self { true } else { false } }
}

/// A frequent read.
enum Question: Sendable {
    case marks([SessionKey])
    case known([TokenHash])
    case token(TokenHash)
    case news(SessionKey, since: UInt64)
    case stores(StoresQuestion)
}

/// The answer to a question: its rows, or a session's.
struct ReadAnswer: Sendable {
    var rows: [PostgresRow] = []
    var session = SessionReads.Results()
}

/// A waiting request.
enum Request: Sendable {
    case write(Write)
    case read(Read)
}

/// The writes that a lost connection may have committed. Reads of them fail until that is resolved.
struct InDoubtWrites {
    private var keys: Set<ChainKey> = []
    private var isOfAll = false

    var isEmpty: Bool { keys.isEmpty && !isOfAll }

    mutating func insert(_ write: Write) {
        keys.formUnion(write.keys)
        // The sessions' tokens are not known here.
        if write.endsSessions || write.keys.isEmpty { isOfAll = true }
    }

    /// True if a write with one of the keys is in doubt.
    func contains(_ keys: [ChainKey]) -> Bool { isOfAll || keys.contains(where: self.keys.contains) }
}
