import MVI
import SessionJournal

/// A client's request for the node that runs its session's turns.
struct ForwardedRequest: Sendable {
    let incoming: Incoming
    /// The method of the forwarded request.
    let method: Route.Method
    let feature: FeatureID
    /// The part of the path after the feature.
    let resource: Resource
    var body: [UInt8] = []
    /// True if the request may be served twice without harm, or cannot be served twice.
    let isRepeatable: Bool
    /// The time for which the client's request waits.
    var wait: Duration = .zero
    let session: ForwardedSession
    let reply: Reply

    enum Resource: String, Sendable {
        case intents, state
    }

    /// The target, rebuilt from its parts without escapes: a client may have written it differently.
    var target: String { Self.target(feature, resource) }

    static func target(_ feature: FeatureID, _ resource: Resource) -> String {
        "/features/\(feature.text)/\(resource.rawValue)"
    }
}
