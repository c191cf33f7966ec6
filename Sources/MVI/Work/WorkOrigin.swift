/// Where launched work comes from. What the work leads to, further work included, has the same origin.
@usableFromInline
package final class WorkOrigin: Sendable {
    @usableFromInline let intentID: IntentID
    /// The intent as it was executed; nil if none led to the work.
    let intent: (any Sendable)?
    /// Whether an intent is settled only after this work. Once false, it is false for all that follows.
    let isCounted: Bool

    init(_ intentID: IntentID, _ intent: (any Sendable)?, isCounted: Bool) {
        self.intentID = intentID
        self.intent = intent
        self.isCounted = isCounted
    }

    /// The same for work that is not counted.
    var uncounted: WorkOrigin { WorkOrigin(intentID, intent, isCounted: false) }
}
