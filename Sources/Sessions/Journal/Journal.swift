import MVI

/// Turns of one store that are to become permanent as one unit.
public struct JournalAppend: Sendable {
    /// The session's public id.
    public let session: String
    /// The feature instance.
    public let feature: FeatureID
    /// In order.
    public let turns: [EncodedTurn]
}

/// How an append ended.
public enum AppendResult: Sendable {
    /// The turns are permanent.
    case committed
    /// They certainly are not, and nothing of them may be shown.
    case failed(CommitFailure)

    func commitResult<F>(of feature: F.Type) -> CommitResult<F> {
        switch self {
        case .committed: .committed
        case .failed(let failure): .failed(failure)
        }
    }
}

/// Where sessions become permanent.
public protocol Journal: Sendable {
    /// Makes the turns permanent. Called by one thread at a time for each store, never under a lock.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` once, later, from a thread that may run
    /// handlers and write to sockets, never from one that others wait for to commit.
    func append(_ append: JournalAppend, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult?

    /// Whether an append would probably succeed. A server whose journal is not writable is not ready.
    var isWritable: Bool { get }
}

/// Keeps nothing: what is in memory is all there is, and it is committed at once.
public struct MemoryJournal: Journal {
    /// A journal for tests, and for servers whose sessions may end with them.
    public init() {}

    public func append(
        _ append: JournalAppend, done: @escaping @Sendable (AppendResult) -> Void
    ) -> AppendResult? { .committed }

    public var isWritable: Bool { true }
}
