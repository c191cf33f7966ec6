/// A throw in an author's code, as it is reported and handed to `Feature.onFailure`.
public struct Failure: Error, Sendable {
    /// Where it was thrown.
    public enum Stage: Sendable, Equatable {
        /// In `bootstrap`.
        case bootstrap
        /// In `signedIn`.
        case signIn
        /// In an asynchronous check.
        case check
        /// In `execute`, `perform`, or an interceptor that threw something other than a `Refusal`.
        case execute
        /// In launched work, with its id if it had one.
        case work(WorkID?)
    }

    /// Where it was thrown.
    public let stage: Stage
    /// The intent that led to it.
    public let intentID: IntentID
    /// That intent as it was executed, a value of the feature's `Intent`: with launched work the one that launched it,
    /// with the work's own launches too. Nil for bootstrap, and for what no intent led to.
    public let intent: (any Sendable)?
    /// What was thrown.
    public let error: any Error

    /// A failure of that stage.
    public init(stage: Stage, intentID: IntentID, intent: (any Sendable)? = nil, error: any Error) {
        self.stage = stage
        self.intentID = intentID
        self.intent = intent
        self.error = error
    }

    /// The name of the intent's case, without its values; nil without an intent, or if that is no enum.
    public var intentName: String? {
        guard let intent else { return nil }
        let mirror = Mirror(reflecting: intent)
        guard mirror.displayStyle == .enum else { return nil }
        return mirror.children.first?.label ?? String(describing: intent)
    }
}
