import MVI

/// The part of a batch that few batches have.
package final class RareBatch: Sendable {
    /// The callers of a space by whose access the turns were judged, one for each turn at most. If one's has changed, nothing
    /// is appended and the result is `callersChanged`. Journals of one process may ignore them.
    package let expectedCallers: [ExpectedCaller]
    /// Visits of a space to note with the turns, in place of earlier ones of the same sessions. One without a subject has that
    /// of an earlier one, or of its session in a journal of one process: that signed in after the turn was judged.
    package let visits: [Visit]
    /// The messages of other logs that the turns received, in order. If one was received before, nothing is appended and the
    /// result is `heardBefore`.
    package let heard: [HeardMessage]

    package init(expectedCallers: [ExpectedCaller] = [], visits: [Visit] = [], heard: [HeardMessage] = []) {
        self.expectedCallers = expectedCallers
        // A statement of PostgreSQL writes a row once.
        self.visits =
            visits.count < 2
            ? visits : Array(Dictionary(visits.map { ($0.session, $0) }) { $1.replacing($0) }.values)
        self.heard = heard
    }

    /// Returns `heardBefore` if messages were received before.
    ///
    /// - Parameter last: Returns the highest number of a sender; nil for an unknown one.
    package func heardBefore(_ last: ([UInt8]) throws -> UInt64?) rethrows -> AppendResult? {
        let known = try heard.indices.filter { try heard[$0].number <= last(heard[$0].sender) ?? 0 }
        return known.isEmpty ? nil : .heardBefore(known)
    }
}

extension JournalBatch {
    /// The senders of its messages, each once.
    package var senders: [StoredSender] {
        guard let rare, !rare.heard.isEmpty else { return [] }
        return Dictionary(rare.heard.map { ($0.sender, $0) }) { $0.number < $1.number ? $1 : $0 }.values
            .map { StoredSender(last: $0, time: time) }
    }
}

/// A message that another session told this one. Of each sender the highest number is kept: a message with this number or a
/// lower one was received before.
package struct HeardMessage: Sendable, Hashable {
    /// The number of bytes that name a log.
    package static let senderSize = 16

    /// Names the sender's log: a hash.
    package var sender: [UInt8]
    /// Its place among the sender's messages: 1 at least, and below 2^63.
    package var number: UInt64

    package init(sender: [UInt8], number: UInt64) { (self.sender, self.number) = (sender, number) }

    /// The time after the append for which a sender's number is kept at least. Delivery gives up earlier.
    package static let life: Duration = .seconds(48 * 3600)
}

/// A sender of messages, as a session that received some keeps it.
package struct StoredSender: Sendable, Hashable {
    /// Its message with the highest number.
    package var last: HeardMessage
    /// The time of that message's append, since 1970.
    package var time: Duration

    package init(last: HeardMessage, time: Duration) { (self.last, self.time) = (last, time) }
}
