/// An action that a ``ClientConnection`` requests. Actions are performed in order.
enum Command: Sendable, Equatable {
    case start(ExchangeID, HTTPRequest)
    /// Cancels a request.
    case cut(ExchangeID)
    case loadCredential
    case saveCredential(String?)
    case askIdentity
    case deliver(feature: String, IntentDelivery)
    case finish(intent: UInt64, Result<IntentReceipt, RemoteError>)
    case show(Condition)
    /// Passes a message to the app's log.
    case report(String)
}

/// A delivery to the watchers of a store.
enum IntentDelivery: Sendable, Equatable {
    case state(version: UInt64, [UInt8])
    case label(StreamLabel)
    /// The store was disposed of.
    case ended
    /// The caller may not see the feature.
    case denied
    /// The feature does not exist, or there is nothing under its key.
    case missing
    case reset(reason: String, labelsLost: Bool)
}

/// A label as it was received.
struct StreamLabel: Sendable, Equatable {
    var id: String
    var version: UInt64
    var intent: String?
    var isReplay: Bool
    /// The label as JSON.
    var label: [UInt8]
}
