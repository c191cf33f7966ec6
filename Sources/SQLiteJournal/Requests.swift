import MVI
import SessionJournal

/// The subject of a write or a read.
enum Scope: Sendable {
    case all
    /// Sessions that a read finds by their properties.
    case any
    case session(SessionKey)
    case sessions([SessionKey])
    /// The end of a session: its token names something else afterwards.
    case removal(SessionKey)
    case token(TokenHash)
    /// Tokens that a session gains or loses. A session that is being created has no key yet.
    case tokens([TokenHash], SessionKey?)

    /// The session whose results define its order, if any.
    var session: SessionKey? {
        switch self {
        case .session(let session), .removal(let session): session
        case .sessions(let sessions): sessions.first
        case .tokens(_, let session): session
        case .all, .any, .token: nil
        }
    }
}

/// A request to the writer.
struct SQLiteWrite: Sendable {
    let scope: Scope
    /// The approximate number of bytes that it writes.
    var bytes = 200
    /// Its number in the queue.
    var ticket: UInt64 = 0
    /// Makes the change inside an open transaction.
    let run: @Sendable (JournalDatabase) throws -> Completion
    /// Returns the result if nothing was stored, or if that is unknown.
    let fail: @Sendable (StoreError, _ isUnknown: Bool) -> Completion
}

/// A request to the reader.
struct SQLiteRead: Sendable {
    /// The ticket that the writer must have finished first.
    let needs: UInt64
    /// Reads and delivers the result. The ticket is the last one that the writer had finished before.
    let run: @Sendable (_ reader: SQLiteReader, _ ticket: UInt64) -> Void
}

/// The sessions of a transaction whose failed commit may remain in the log. Reads of them fail until another commit has
/// overwritten it: a crash might restore it.
struct InDoubtCommits {
    private var sessions: Set<SessionKey> = []
    private var tokens: Set<TokenHash> = []
    private var isOfAll = false

    var isEmpty: Bool { sessions.isEmpty && tokens.isEmpty && !isOfAll }

    mutating func insert(_ scope: Scope) {
        switch scope {
        case .session(let session): sessions.insert(session)
        case .sessions(let several): sessions.formUnion(several)
        case .token(let token): tokens.insert(token)
        case .tokens(let several, let session):
            tokens.formUnion(several)
            if let session { sessions.insert(session) }
        // The session's tokens are not known here.
        case .removal, .all, .any: isOfAll = true
        }
    }

    func contains(_ scope: Scope) -> Bool {
        if case .token(let token) = scope { return isOfAll || tokens.contains(token) }
        if case .any = scope { return !isEmpty }
        return isOfAll || scope.session.map(sessions.contains) == true
    }
}
