import Tracing

/// Names launched work inside one store. A string literal will do, also one with values in it: `"save \(id)"`.
public struct WorkID: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The name, as the author gave it.
    public let name: String
    /// The part whose work it names; nil for work of the feature.
    package let part: PartName?

    /// An id with a name made at run time.
    public init(_ name: String) { self.init(name, in: nil) }

    /// The same with a name from the source.
    public init(stringLiteral value: String) { self.init(value, in: nil) }

    init(_ name: String, in part: PartName?) { (self.name, self.part) = (name, part) }

    /// The name, with the id of its part if that is in a list.
    public var description: String { part?.description.map { "\(name) of \($0)" } ?? name }
}

/// The treatment of work that is launched while work of the same id runs.
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

/// Launched work without its feature's type.
@usableFromInline
package typealias WorkOperation = @Sendable (WorkContext) async throws -> Void

/// Work that a turn asked for.
@usableFromInline
package struct WorkRequest: Sendable {
    package let origin: WorkOrigin
    package let id: WorkID?
    package let policy: WorkPolicy
    /// The part that it ends with; nil for work of the feature.
    package let part: PartName?
    package let operation: WorkOperation

    package init(
        origin: WorkOrigin, id: WorkID?, policy: WorkPolicy, part: PartName? = nil, operation: @escaping WorkOperation
    ) {
        (self.origin, self.id, self.policy, self.part, self.operation) = (origin, id, policy, part, operation)
    }
}

/// A request of a turn to its store, fulfilled after the commit, in order.
@usableFromInline
package enum Effect: Sendable {
    case launch(WorkRequest)
    case throttle(Duration, latest: Bool, WorkRequest)
    case whileWatched(Duration, WorkRequest)
    case cancel(WorkID)
    /// All work of parts that are gone.
    case cancelParts(Set<PartName>)

    /// Returns true if it cancels that work, should it run.
    package func cancels(_ work: WorkRequest) -> Bool {
        switch self {
        case .cancelParts(let parts): return work.part.map(parts.contains) ?? false
        case .throttle: return false
        case .launch(let request) where request.policy != .cancelPrevious: return false
        case .cancel, .launch, .whileWatched:
            guard let id else { return false }
            return work.id == id
        }
    }

    /// Returns true if it may begin or end work of that id.
    package func concerns(_ id: WorkID) -> Bool {
        if case .cancelParts(let parts) = self { return id.part.map(parts.contains) ?? false }
        return self.id == id
    }

    /// The part that it launches work for.
    package var part: PartName? {
        switch self {
        case .launch(let request), .throttle(_, _, let request), .whileWatched(_, let request): request.part
        case .cancel, .cancelParts: nil
        }
    }

    /// True if work begins by it in any case; false where it depends on watchers, too.
    package var launches: Bool {
        switch self {
        case .launch, .throttle: true
        case .whileWatched, .cancel, .cancelParts: false
        }
    }

    /// True if work begins by it if the store is watched.
    package var watches: Bool { if case .whileWatched = self { true } else { false } }

    /// The id of the work that it is about.
    private var id: WorkID? {
        switch self {
        case .cancelParts: nil
        case .cancel(let id): id
        case .launch(let request), .throttle(_, _, let request), .whileWatched(_, let request): request.id
        }
    }
}

/// The error of a turn that asked for more work than its store may have.
public struct WorkLimitExceeded: Error, Sendable, Equatable, CustomStringConvertible {
    /// The maximum number of pieces: `StoreEnvironment.workLimit`.
    public let limit: Int

    package init(limit: Int) { self.limit = limit }

    /// The fault and its remedy.
    public var description: String {
        "The turn would leave its store with more than \(limit) pieces of work that run, wait or are registered for "
            + "watchers. Give work an id and a policy, so that it takes the place of what runs already."
    }
}

/// The lifetime of an observation by `Turn.observe`.
public enum WorkLifetime: Sendable, Equatable {
    /// While a stream shows the store, and for the grace period after the last one left.
    case whileWatched(grace: Duration = .seconds(5))
    /// Until the store's end, watched or not. The store stays in memory meanwhile.
    case store
}

/// The origin of launched work. Further work that it launches has the same origin.
@usableFromInline
package final class WorkOrigin: Sendable {
    @usableFromInline package let intentID: IntentID
    /// The intent as it was executed; nil if none led to the work.
    package let intent: (any Sendable)?
    /// The caller who sent the intent; nil if anonymous.
    package let principal: Principal?
    /// The span of the turn that launched it; nil where nothing is traced.
    package let trace: ServiceContext?
    /// True if an intent is settled only after this work. Once false, it is false for all that follows.
    package let isCounted: Bool

    init(
        _ intentID: IntentID, _ intent: (any Sendable)?, _ principal: Principal?, isCounted: Bool,
        trace: ServiceContext? = nil
    ) {
        self.trace = trace
        self.principal = principal
        self.intentID = intentID
        self.intent = intent
        self.isCounted = isCounted
    }

    /// The same for work that is not counted.
    package var uncounted: WorkOrigin { WorkOrigin(intentID, intent, principal, isCounted: false, trace: trace) }
}
