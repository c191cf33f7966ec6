/// A throw in an author's code, as it is reported and handed to `Feature.onFailure`.
public struct Failure: Error, Sendable {
    /// The code that threw.
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

    /// The code that threw.
    public var stage: Stage { content.stage }
    /// The intent that led to it.
    public var intentID: IntentID { content.intentID }
    /// That intent as it was executed, a value of the feature's `Intent`: with launched work the one that launched it,
    /// with the work's own launches too. Nil for bootstrap, and for what no intent led to.
    public var intent: (any Sendable)? { content.intent }
    /// The thrown error.
    public var error: any Error { content.error }

    /// Beside the value: what holds a failure only now and then, as an observation does, stays small.
    private final class Content: Sendable {
        let stage: Stage
        let intentID: IntentID
        let intent: (any Sendable)?
        let error: any Error

        init(_ stage: Stage, _ intentID: IntentID, _ intent: (any Sendable)?, _ error: any Error) {
            (self.stage, self.intentID, self.intent, self.error) = (stage, intentID, intent, error)
        }
    }

    private let content: Content

    /// A failure of that stage.
    public init(stage: Stage, intentID: IntentID, intent: (any Sendable)? = nil, error: any Error) {
        content = Content(stage, intentID, intent, error)
    }

    /// The name of the intent's case, without its values; nil without an intent, or if that is no enum.
    public var intentName: String? {
        guard let intent else { return nil }
        let mirror = Mirror(reflecting: intent)
        guard mirror.displayStyle == .enum else { return nil }
        return mirror.children.first?.label ?? String(describing: intent)
    }
}

extension Failure.Stage {
    /// In traces and metrics, where an id of work would be one of too many.
    package var name: String {
        switch self {
        case .bootstrap: "bootstrap"
        case .signIn: "signIn"
        case .check: "check"
        case .execute: "execute"
        case .work: "work"
        }
    }
}
