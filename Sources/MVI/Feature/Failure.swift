/// A throw in an author's code, as it is reported and handed to `Feature.onFailure`.
public struct Failure: Error, Sendable {
    /// Where it was thrown.
    public enum Stage: Sendable, Equatable {
        /// In `bootstrap`.
        case bootstrap
        /// In `execute`, `perform`, or an interceptor that threw something other than a `Refusal`.
        case execute
        /// In launched work, with its id if it had one.
        case work(WorkID?)
    }

    /// Where it was thrown.
    public let stage: Stage
    /// The intent that led to it.
    public let intentID: IntentID
    /// What was thrown.
    public let error: any Error

    /// A failure of that stage.
    public init(stage: Stage, intentID: IntentID, error: any Error) {
        self.stage = stage
        self.intentID = intentID
        self.error = error
    }
}
