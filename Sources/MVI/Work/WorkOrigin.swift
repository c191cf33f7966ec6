import Tracing

/// Where launched work comes from. What the work leads to, further work included, has the same origin.
@usableFromInline
package final class WorkOrigin: Sendable {
    @usableFromInline package let intentID: IntentID
    /// The intent as it was executed; nil if none led to the work.
    package let intent: (any Sendable)?
    /// Who sent the intent; nil for somebody who is not signed in.
    package let principal: Principal?
    /// The span of the turn that launched it; nil where nothing is traced.
    package let trace: ServiceContext?
    /// Whether an intent is settled only after this work. Once false, it is false for all that follows.
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
