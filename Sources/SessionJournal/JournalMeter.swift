/// Measures what a journal does, for a server's metrics.
package protocol JournalMeter: Sendable {
    /// The medium committed a transaction.
    ///
    /// Called on a thread of the journal's, under no lock; must not block.
    ///
    /// - Parameters:
    ///   - appends: how many appends are permanent by it.
    ///   - duration: from its begin to the medium's answer to its commit.
    func committed(appends: Int, in duration: Duration)
}
