import MVI

/// All that a journal keeps, for another journal that takes its place.
package protocol JournalContents: Sendable {
    /// Its place, for a message.
    var place: String { get }
    /// Reads all of it, as of one moment, and changes nothing. No server can use the journal meanwhile.
    ///
    /// Fails with `StoreError.Code.contended` if one does, before anything is read; and with what `take` throws.
    ///
    /// - Parameter take: gets `.beginning`, then the sessions in the order of their keys, then the ended tokens.
    func forEachPart(_ take: (JournalPart) throws -> Void) throws(StoreError)
}

/// A part of what a journal keeps.
package enum JournalPart: Sendable {
    /// The journal's secret, and a key that none of its sessions is beyond.
    case beginning(JournalSecret, lastKey: SessionKey)
    /// A session, with all its heads that are remembered.
    case session(SessionExport)
    /// A session of which rows cannot be read as what they must be, and why.
    case damaged(SessionKey, String)
    /// The token of a session that has ended, or of a credential that was removed, and until when that is remembered: time
    /// since 1970.
    case endedToken(TokenHash, until: Duration)
}

/// The amount that a journal took over from another one.
package struct JournalCounts: Sendable, Hashable {
    package var sessions = 0
    package var stores = 0
    package var credentials = 0
    package var labels = 0
    package var receipts = 0
    package var reminders = 0
    package var recordedTurns = 0
    package var statesSetAside = 0
    package var endedTokens = 0
    /// The sessions that could not be read and were left out, each with the reason.
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
        case .damaged(let key, let reason): damaged.append("session \(key.number): \(reason)")
        case .endedToken: endedTokens += 1
        }
    }
}

/// A journal that servers share, as tools change it.
package protocol SharedJournalMaintenance: JournalMaintenance {
    /// Takes over all that another journal keeps, or nothing: sessions with their tokens, heads and epochs, so that clients
    /// go on where they were, and the secret. The schema is made if it is not there.
    ///
    /// Fails with `StoreError.Code.contended` if a server uses either journal, and with `StoreError.Code.invalid` if this one
    /// has sessions.
    func takeOver(_ contents: some JournalContents) throws(StoreError) -> JournalCounts
}
