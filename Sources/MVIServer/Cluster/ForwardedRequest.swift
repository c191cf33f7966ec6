import MVI
import SessionJournal

/// A client's request for the node that runs its session's turns.
struct ForwardedRequest: Sendable {
    let incoming: Incoming
    /// The method with which it is sent on.
    let method: Route.Method
    let feature: FeatureID
    /// The resource that follows the feature in the path.
    let resource: Resource
    var body: [UInt8] = []
    /// True if it does no harm if it is served twice, or cannot be.
    let isRepeatable: Bool
    /// For how long its client wants the answer to wait.
    var wait: Duration = .zero
    let session: ForwardedSession
    let reply: Reply

    enum Resource: String, Sendable {
        case intents, state
    }

    /// Written anew of its parts, which need no escapes: a client may have written it in other ways.
    var target: String { Self.target(feature, resource) }

    static func target(_ feature: FeatureID, _ resource: Resource) -> String {
        "/features/\(feature.text)/\(resource.rawValue)"
    }
}
