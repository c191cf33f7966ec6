import SessionJournal

/// The figures of a node among the others, for a server's metrics.
package struct NodeFigures: Sendable {
    /// Whether it may run sessions' work now.
    package var holdsLease = false
    /// Sessions that it owns.
    package var sessionsOwned = 0
    /// The number of times that its work ended since it had not reached the journal.
    package var leaseExpiries = 0
    /// The number of times that its work ended since others took it for gone.
    package var evictions = 0
    /// The difference of its clock to the journal's, positive if it is ahead; nil as long as it is not known.
    package var clockDifference: Duration?
    package var journal = JournalFigures()

    package init() {}
}

extension SessionTable {
    /// Nil where the journal is not shared.
    package var nodeFigures: NodeFigures? {
        guard let lease = environment.lease, let journal = environment.sharedJournal else { return nil }
        var figures = NodeFigures()
        figures.holdsLease = lease.holder != nil
        figures.sessionsOwned = environment.owned?.all.count ?? 0
        (figures.leaseExpiries, figures.evictions) = lease.losses
        figures.clockDifference = lease.clockDifference
        figures.journal = journal.figures
        return figures
    }
}
