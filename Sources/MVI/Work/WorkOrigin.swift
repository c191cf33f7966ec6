/// Where launched work comes from. What the work leads to, further work included, has the same origin.
@usableFromInline
package final class WorkOrigin: Sendable {
    @usableFromInline let intentID: IntentID
    /// Whether an intent is settled only after this work. Once false, it is false for all that follows.
    let isCounted: Bool

    init(_ intentID: IntentID, isCounted: Bool) {
        self.intentID = intentID
        self.isCounted = isCounted
    }
}
