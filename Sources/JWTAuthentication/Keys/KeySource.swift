/// The source of a key set, as the cache uses it.
struct KeySource: Sendable {
    enum Content: Sendable {
        /// The content is the same as at the last read.
        case unchanged
        case document([UInt8])
    }

    /// The intervals at which a source is read.
    struct Pace: Sendable {
        /// The age at which keys are read again before use.
        var refresh: Duration
        /// The time from a failed read to the next.
        var retry: Duration
        /// The time from a failed read to the next while there are no keys at all.
        var retryWithoutKeys: Duration
        /// The shortest time between two reads for an unknown `kid`.
        var unknownID: Duration
        /// The time that keys stay in use after the last successful read.
        var keep: Duration = .seconds(24 * 3600)

        /// The pace for another server.
        static let address = Pace(
            refresh: .seconds(300), retry: .seconds(60), retryWithoutKeys: .seconds(5), unknownID: .seconds(60))
        /// The pace for a file, where a check costs one system call.
        static let file = Pace(
            refresh: .seconds(1), retry: .seconds(1), retryWithoutKeys: .seconds(1), unknownID: .seconds(1))
    }

    /// The name in log lines.
    let name: String
    let pace: Pace
    /// Reads the source. `afterFailure` means that its last content was rejected, so `unchanged` is no answer.
    let read: @Sendable (_ afterFailure: Bool) async throws(KeyReadError) -> Content
}

/// The reason why a key set could not be read.
struct KeyReadError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
