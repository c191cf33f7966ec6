import MVI
import SQLite
import SessionJournal

extension SQLiteJournalFile: JournalContents {
    package func forEachPart(_ take: (JournalPart) throws -> Void) throws(StoreError) {
        try readAlone { connection in
            let last = try connection.first("SELECT coalesce(max(key), 0) FROM sessions") { try $0.integer(0) } ?? 0
            try take(.beginning(connection.secret(), lastKey: SessionKey(last)))
            try connection.eachSession(take)
            try connection.eachTombstone(take)
        }
    }
}

extension Connection {
    /// The number of rows read at a time.
    private static let step = 256

    fileprivate mutating func eachSession(_ take: (JournalPart) throws -> Void) throws {
        var last = Int64.min
        while true {
            let keys = try query(
                "SELECT key FROM sessions WHERE key > ? ORDER BY key LIMIT \(Self.step)", [.integer(last)]
            ) { row in try row.integer(0) }
            guard let newest = keys.last else { return }
            last = newest
            for key in keys { if let part = try part(SessionKey(key)) { try take(part) } }
        }
    }

    private mutating func part(_ session: SessionKey) throws -> JournalPart? {
        do { return try contents(of: session).map { .session($0) } } catch {
            guard Self.isOfValue(error) else { throw error }
            return .damaged(session, "\(error)")
        }
    }

    fileprivate mutating func eachTombstone(_ take: (JournalPart) throws -> Void) throws {
        var last: [UInt8] = []
        while true {
            let rows = try query(
                "SELECT token, until FROM tombstones WHERE token > ? ORDER BY token LIMIT \(Self.step)", [.blob(last)]
            ) { row in (token: try row.blob(0), until: try row.time(1)) }
            guard let newest = rows.last else { return }
            last = newest.token
            // Other lengths are no tokens.
            for row in rows where row.token.count == 32 {
                try take(.endedToken(TokenHash(row.token), until: row.until))
            }
        }
    }
}
