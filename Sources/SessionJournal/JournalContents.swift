import MVI

/// The whole contents of a journal, for a journal that replaces it.
package protocol JournalContents: Sendable {
    /// The journal's location, for messages.
    var place: String { get }
    /// Reads a consistent snapshot without changing anything. No server can use the journal meanwhile.
    ///
    /// Fails with the errors of `take`, and with `StoreError.Code.contended` before the first part if a server uses it.
    ///
    /// - Parameter take: Receives `.beginning`, then the sessions in the order of their keys, then the ended tokens.
    func forEachPart(_ take: (JournalPart) throws -> Void) throws(StoreError)
}

/// A part of a journal's contents.
package enum JournalPart: Sendable {
    /// The journal's secret, and a key that is not below that of any session.
    case beginning(JournalSecret, lastKey: SessionKey)
    /// A session with all its remembered heads.
    case session(SessionExport)
    /// A session with unreadable rows, and the reason.
    case damaged(SessionKey, String)
    /// The token of an ended session or a removed credential, and the time since 1970 until which it is remembered.
    case endedToken(TokenHash, until: Duration)
}

/// The counts of what was imported from another journal.
package struct JournalCounts: Sendable, Hashable {
    package var sessions = 0
    package var stores = 0
    package var credentials = 0
    package var labels = 0
    package var receipts = 0
    package var reminders = 0
    package var recordedTurns = 0
    package var statesSetAside = 0
    package var visits = 0
    package var senders = 0
    package var endedTokens = 0
    /// The sessions that were unreadable and skipped, each with the reason.
    package var damaged: [String] = []

    package init() {}

    /// Counts a part.
    package mutating func add(_ part: JournalPart) {
        switch part {
        case .beginning: break
        case .session(let export):
            sessions += 1
            stores += export.stores.count
            credentials += export.session.credentials.count
            labels += export.session.labels.count
            receipts += export.session.receipts.count
            reminders += export.session.reminders.count
            recordedTurns += export.turns.count
            statesSetAside += export.setAside.count
            visits += export.visits.count
            senders += export.senders.count
        case .damaged(let key, let reason): damaged.append("session \(key.number): \(reason)")
        case .endedToken: endedTokens += 1
        }
    }
}

/// The maintenance of a journal that servers share.
package protocol SharedJournalMaintenance: JournalMaintenance {
    /// Imports another journal as a whole or not at all: sessions with tokens, heads and epochs, so that clients
    /// continue where they were, and the secret. Creates the schema if it is missing.
    ///
    /// Fails with `StoreError.Code.contended` if a server uses either journal, and with `StoreError.Code.invalid` if
    /// this one has sessions.
    func takeOver(_ contents: some JournalContents) throws(StoreError) -> JournalCounts
}
