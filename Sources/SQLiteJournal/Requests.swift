import MVI
import SessionJournal

/// What a write or a read is about.
enum Scope: Sendable {
    case all
    /// Sessions that are found by what they are, for a read.
    case any
    case session(SessionKey)
    case sessions([SessionKey])
    /// The end of a session: its token names something else afterwards.
    case removal(SessionKey)
    case token(TokenHash)
    /// Tokens that come to a session or leave it. One that is only made has no key yet.
    case tokens([TokenHash], SessionKey?)

    /// The session whose results it comes in the order of, if any.
    var session: SessionKey? {
        switch self {
        case .session(let session), .removal(let session): session
        case .sessions(let sessions): sessions.first
        case .tokens(_, let session): session
        case .all, .any, .token: nil
        }
    }
}

/// What the writer is asked for.
struct SQLiteWrite: Sendable {
    let scope: Scope
    /// About how many bytes it writes.
    var bytes = 200
    /// Its number in the queue.
    var ticket: UInt64 = 0
    /// Makes the change inside an open transaction.
    let run: @Sendable (JournalDatabase) throws -> Completion
    /// The result if nothing of it is kept, or if that is not known.
    let fail: @Sendable (StoreError, _ isUnknown: Bool) -> Completion
}

/// What the reader is asked for.
struct SQLiteRead: Sendable {
    /// The ticket that the writer must be done with first.
    let needs: UInt64
    /// Reads and hands the result over. The ticket is what the writer was done with before.
    let run: @Sendable (_ reader: SQLiteReader, _ ticket: UInt64) -> Void
}

/// The sessions of a transaction whose commit failed in a way that may have left it in the log. Until another was written
/// over it nothing is said of these: after a crash it might turn out to be kept.
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
        // Its tokens are not known here.
        case .removal, .all, .any: isOfAll = true
        }
    }

    func contains(_ scope: Scope) -> Bool {
        if case .token(let token) = scope { return isOfAll || tokens.contains(token) }
        if case .any = scope { return !isEmpty }
        return isOfAll || scope.session.map(sessions.contains) == true
    }
}
