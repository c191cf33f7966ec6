import Synchronization
import Tracing

/// The id of launched work inside one store. It can be a string literal, also with interpolation: `"save \(id)"`.
public struct WorkID: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The name, as the author gave it.
    public let name: String
    /// The part that the work belongs to; nil for work of the feature.
    package let part: PartName?

    /// Creates an id from a name.
    public init(_ name: String) { self.init(name, in: nil) }

    /// Creates an id from a string literal.
    public init(stringLiteral value: String) { self.init(value, in: nil) }

    init(_ name: String, in part: PartName?) { (self.name, self.part) = (name, part) }

    /// The name, with the part's id if the part is in a list.
    public var description: String { part?.description.map { "\(name) of \($0)" } ?? name }
}

/// The rule for launching work while work of the same id is running.
public enum WorkPolicy: Sendable, Equatable {
    /// The running work is canceled, and its further steps are dropped.
    case cancelPrevious
    /// The new work is dropped.
    case keepPrevious
    /// The new work starts after the previous ones have ended.
    case queue
    /// Both run.
    case parallel
}

/// Launched work without its feature's type.
@usableFromInline
package typealias WorkOperation = @Sendable (WorkContext) async throws -> Void

/// A launch that a turn requests.
@usableFromInline
package struct WorkRequest: Sendable {
    package let origin: WorkOrigin
    @usableFromInline package let id: WorkID?
    package let policy: WorkPolicy
    /// The part that the work ends with; nil for work of the feature.
    package let part: PartName?
    /// True for `observe`: readers of the store wait for its first result.
    package private(set) var isObservation = false
    package let operation: WorkOperation

    package init(
        origin: WorkOrigin, id: WorkID?, policy: WorkPolicy, part: PartName? = nil, operation: @escaping WorkOperation
    ) {
        (self.origin, self.id, self.policy, self.part, self.operation) = (origin, id, policy, part, operation)
    }

    /// The same request for `observe`.
    var observing: WorkRequest {
        var request = self
        request.isObservation = true
        return request
    }
}

/// An operation that a turn requests for the time after its commit.
@usableFromInline
package enum Effect: Sendable {
    case launch(WorkRequest)
    case throttle(Duration, latest: Bool, WorkRequest)
    case whileWatched(Duration, WorkRequest)
    case cancel(WorkID)
    /// Cancels all work of parts that are gone.
    case cancelParts(Set<PartName>)

    /// Returns true if the effect cancels the work.
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

    /// Returns true if the effect may start or end work of the id.
    package func concerns(_ id: WorkID) -> Bool {
        if case .cancelParts(let parts) = self { return id.part.map(parts.contains) ?? false }
        return self.id == id
    }

    /// The launch that it requests; nil if it requests none.
    @usableFromInline package var request: WorkRequest? {
        switch self {
        case .launch(let request), .throttle(_, _, let request), .whileWatched(_, let request): request
        case .cancel, .cancelParts: nil
        }
    }

    /// The part that the effect launches work for.
    package var part: PartName? { request?.part }

    /// True if the effect always launches work; false if it depends on watchers.
    package var launches: Bool {
        switch self {
        case .launch, .throttle: true
        case .whileWatched, .cancel, .cancelParts: false
        }
    }

    /// True if the effect launches work only while the store is watched.
    package var watches: Bool { if case .whileWatched = self { true } else { false } }

    /// The id of the affected work.
    private var id: WorkID? {
        if case .cancel(let id) = self { id } else { request?.id }
    }
}

/// The error of a turn that requests more work than its store may have.
public struct WorkLimitExceeded: Error, Sendable, Equatable, CustomStringConvertible {
    /// The maximum number of pieces: `StoreEnvironment.workLimit`.
    public let limit: Int

    package init(limit: Int) { self.limit = limit }

    /// A description with advice.
    public var description: String {
        "The turn would leave its store with more than \(limit) pieces of work that run, wait or are registered for "
            + "watchers. Give work an id and a policy, so that it replaces running work."
    }
}

/// The time during which `Turn.observe` observes a sequence.
public enum WorkLifetime: Sendable, Equatable {
    /// While a stream shows the store, and for the grace period after the last stream ended.
    case whileWatched(grace: Duration = .seconds(5))
    /// Until the store ends, watched or not. The store stays in memory meanwhile.
    case store
}

/// The origin of launched work.
@usableFromInline
package final class WorkOrigin: Sendable {
    @usableFromInline package let intentID: IntentID
    /// The intent as it was executed; nil if the work was not launched by an intent.
    package let intent: (any Sendable)?
    /// The sender of the intent; nil if the sender is anonymous.
    package let principal: Principal?
    /// The span of the turn that launched the work; nil without tracing.
    package let trace: ServiceContext?
    /// True if the intent settles only after this work. Once false, it stays false for all further work.
    package let isCounted: Bool
    /// See ``turn``; 0 for nil.
    private let number = Atomic<UInt64>(0)

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

    /// The same origin for work that is not counted.
    package var uncounted: WorkOrigin {
        let origin = WorkOrigin(intentID, intent, principal, isCounted: false, trace: trace)
        if let turn { origin.note(turn: turn) }
        return origin
    }

    /// The number of the turn that launched the work; nil if it is not recorded.
    @usableFromInline package var turn: UInt64? {
        let number = number.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// Notes the number of the recorded turn that launched the work, before the work begins.
    package func note(turn: UInt64) {
        _ = number.compareExchange(expected: 0, desired: turn, ordering: .relaxed)
    }
}
