/// Counts of a shared journal's problems since it was opened.
package struct JournalFigures: Sendable, Hashable {
    /// The number of lost database connections.
    package var connectionsLost: Int
    /// The number of groups of appends that failed together and were retried one by one.
    package var groupsSplit: Int
    /// The number of times that news from other processes became late.
    package var newsDelays: Int
    /// True while news from other processes is late.
    package var areNewsLate: Bool
    /// The age of the database's oldest transaction; nil if there is none or it was not checked.
    package var oldestTransaction: Duration?

    package init(
        connectionsLost: Int = 0, groupsSplit: Int = 0, newsDelays: Int = 0, areNewsLate: Bool = false,
        oldestTransaction: Duration? = nil
    ) {
        (self.connectionsLost, self.groupsSplit) = (connectionsLost, groupsSplit)
        (self.newsDelays, self.areNewsLate) = (newsDelays, areNewsLate)
        self.oldestTransaction = oldestTransaction
    }
}
