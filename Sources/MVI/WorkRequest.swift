/// Names launched work inside one store. A string literal will do.
public struct WorkID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name, as the author gave it.
    public let name: String

    /// An id with a name made at run time.
    public init(_ name: String) { self.name = name }

    /// The same with a name from the source.
    public init(stringLiteral value: String) { name = value }

    /// The name.
    public var description: String { name }
}

/// What happens when work is launched while work of the same id runs.
public enum WorkPolicy: Sendable, Equatable {
    /// The running one is cancelled and what it still dispatches is dropped.
    case cancelPrevious
    /// The new one is dropped.
    case keepPrevious
    /// The new one starts when those before it have ended.
    case queue
    /// Both run.
    case parallel
}

/// Work that a turn asked for.
@usableFromInline
struct WorkRequest<F: Feature>: Sendable {
    let id: WorkID?
    let policy: WorkPolicy
    /// Whether an intent is settled only after this work.
    let isCounted: Bool
    let operation: Turn<F>.Operation
}

/// What a turn asks the store to do after its commit, in order.
@usableFromInline
enum Effect<F: Feature>: Sendable {
    case launch(WorkRequest<F>)
    case throttle(Duration, WorkRequest<F>)
    case whileWatched(Duration, WorkRequest<F>)
    case cancel(WorkID)

    /// The id whose running work it cancels.
    var cancelledID: WorkID? {
        switch self {
        case .cancel(let id): id
        case .launch(let request): request.policy == .cancelPrevious ? request.id : nil
        case .throttle, .whileWatched: nil
        }
    }
}
