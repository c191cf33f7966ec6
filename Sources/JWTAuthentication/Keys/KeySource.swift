/// The source of a key set, as the cache sees it.
struct KeySource: Sendable {
    enum Content: Sendable {
        /// The content has not changed since the last read.
        case unchanged
        case document([UInt8])
    }

    /// The intervals of reading the source.
    struct Pace: Sendable {
        /// Keys of this age are read anew before they are used.
        var refresh: Duration
        /// The time from a read that failed to the next.
        var retry: Duration
        /// The same while there are no keys at all.
        var retryWithoutKeys: Duration
        /// The time from a read for an unknown `kid` to the next for one.
        var unknownID: Duration
        /// The time for which keys are used after the last successful read.
        var keep: Duration = .seconds(24 * 3600)

        /// A server elsewhere.
        static let address = Pace(
            refresh: .seconds(300), retry: .seconds(60), retryWithoutKeys: .seconds(5), unknownID: .seconds(60))
        /// A file, where a look costs a system call.
        static let file = Pace(
            refresh: .seconds(1), retry: .seconds(1), retryWithoutKeys: .seconds(1), unknownID: .seconds(1))
    }

    /// In log lines.
    let name: String
    let pace: Pace
    /// Reads the source; `afterFailure` says that what it gave last was not taken, so that `unchanged` is no answer.
    let read: @Sendable (_ afterFailure: Bool) async throws(KeyReadError) -> Content
}

/// The reason for which a key set could not be read.
struct KeyReadError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
