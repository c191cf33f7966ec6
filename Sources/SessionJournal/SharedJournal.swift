/// A journal to which other processes append as well: the nodes of one cluster.
///
/// Who appends finds what others appended by compare-and-append; who only shows a session is told here.
public protocol SharedJournal: Journal {
    /// Has `heard` called when others may have appended, until the journal is closed.
    ///
    /// News are hints: they may be lost, late and doubled, and may be of what this process knows already. Mostly they are
    /// not of what this process appended itself. Called on any thread, under no lock. A later listener takes the place of
    /// the one before.
    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void)

    /// The heads of sessions; one that is not kept any more has none. Cheaper than loading them.
    func heads(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionHead]>)

    /// Which of the sessions are kept that began with these tokens, or were ended.
    func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>)
}

/// What a journal heard of others.
public enum JournalNews: Sendable {
    /// Sessions have these heads now, or had a moment ago.
    case appended([SessionKey: SessionHead])
    /// Sessions are gone, or others may use them than before.
    case changed([SessionKey])
    /// Sessions that were not kept are now, or were ended: those that began with these tokens.
    case known([TokenHash])
    /// News may have been lost: the connection to where they come from is new.
    case interrupted
}
