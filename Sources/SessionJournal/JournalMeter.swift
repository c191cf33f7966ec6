/// Receives measurements of a journal for a server's metrics.
package protocol JournalMeter: Sendable {
    /// Reports a committed transaction.
    ///
    /// Called on a thread of the journal, without a lock. Must not block.
    ///
    /// - Parameters:
    ///   - appends: The number of appends that it made durable.
    ///   - duration: The time from its begin to the response to its commit.
    func committed(appends: Int, in duration: Duration)
}
