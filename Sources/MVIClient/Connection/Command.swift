/// An operation that a ``ClientConnection`` requests. Commands are carried out in order.
enum Command: Sendable, Equatable {
    case start(ExchangeID, HTTPRequest)
    /// Nothing more is wanted of this request.
    case cut(ExchangeID)
    case loadCredential
    case saveCredential(String?)
    case askIdentity
    case deliver(feature: String, IntentDelivery)
    case finish(intent: UInt64, Result<IntentReceipt, RemoteError>)
    case show(Condition)
    /// Something that the app's author wants to know of.
    case report(String)
}

/// The progress of an intent, for its store.
enum IntentDelivery: Sendable, Equatable {
    case state(version: UInt64, [UInt8])
    case label(StreamLabel)
    /// The store was disposed of.
    case ended
    /// The caller may not see the feature.
    case denied
    /// There is no such feature, or nothing under its key.
    case missing
    case reset(reason: String, labelsLost: Bool)
}

/// A label as it came.
struct StreamLabel: Sendable, Equatable {
    var id: String
    var version: UInt64
    var intent: String?
    var isReplay: Bool
    /// JSON.
    var label: [UInt8]
}
