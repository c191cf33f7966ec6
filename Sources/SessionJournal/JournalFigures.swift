/// The trouble that a shared journal has met since it was opened.
package struct JournalFigures: Sendable, Hashable {
    /// Connections to where it is kept that were lost.
    package var connectionsLost: Int
    /// Groups of appends that failed together and were tried one by one.
    package var groupsSplit: Int
    /// The number of times that news of other processes began to be late.
    package var newsDelays: Int
    /// Whether they are.
    package var areNewsLate: Bool
    /// The age of the oldest transaction where it is kept; nil if none was found, or none was looked for.
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
