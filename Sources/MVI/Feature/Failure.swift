/// An error thrown by the author's code, as it is reported and passed to `Feature.onFailure`.
public struct Failure: Error, Sendable {
    /// The place of the throw.
    public enum Stage: Sendable, Equatable {
        /// In `bootstrap`.
        case bootstrap
        /// In `signedIn`.
        case signIn
        /// In an asynchronous check.
        case check
        /// In `execute`, `perform`, or an interceptor that threw something other than a `Refusal`.
        case execute
        /// In the view of an audience, which could not be written as JSON.
        case view
        /// In launched work, with its id if it has one.
        case work(WorkID?)
    }

    /// The place of the throw.
    public var stage: Stage { content.stage }
    /// The id of the intent that led to the failure.
    public var intentID: IntentID { content.intentID }
    /// The intent as it was executed, a value of the feature's `Intent`. For launched work, it is the intent that
    /// launched the work, also indirectly. Nil for bootstrap and for failures without an intent.
    public var intent: (any Sendable)? { content.intent }
    /// The thrown error.
    public var error: any Error { content.error }

    /// Stored by reference, so that values that rarely hold a failure, such as observations, stay small.
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

    /// Creates a failure.
    public init(stage: Stage, intentID: IntentID, intent: (any Sendable)? = nil, error: any Error) {
        content = Content(stage, intentID, intent, error)
    }

    /// The name of the intent's case without its values; nil without an intent, or if `Intent` is not an enum.
    public var intentName: String? {
        guard let intent else { return nil }
        let mirror = Mirror(reflecting: intent)
        guard mirror.displayStyle == .enum else { return nil }
        return mirror.children.first?.label ?? String(describing: intent)
    }
}

extension Failure.Stage {
    /// The name in traces and metrics. It leaves out work ids to keep the number of names small.
    package var name: String {
        switch self {
        case .bootstrap: "bootstrap"
        case .signIn: "signIn"
        case .check: "check"
        case .execute: "execute"
        case .view: "view"
        case .work: "work"
        }
    }
}

extension Failure {
    /// The stage and the error, for a recording.
    @usableFromInline
    var text: String { "\(stage): \(error)" }
}
