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
    /// For an intent that an earlier run of the app kept: its prediction can be shown again.
    case resume(intent: UInt64)
    /// A store shows predictions of the intents that an earlier run of the app kept. From ``ClientCore`` itself.
    case adopt(feature: String, by: UInt64)
    /// Saves the waiting intents for the next run of the app.
    case saveIntents([KeptIntent])
    /// For an intent whose prediction is shown.
    case progress(intent: UInt64, IntentProgress)
    case show(Condition)
    /// Passes a message to the app's log.
    case report(String)
}

/// A delivery to the watchers of a store.
enum IntentDelivery: Sendable, Equatable {
    /// - Parameter intent: the key of the intent that led to it, if known.
    case state(version: UInt64, intent: String? = nil, [UInt8])
    case label(StreamLabel)
    /// Other clients look at the store; nil if it is not known any more who does.
    case presence(StorePresence?)
    /// The store was disposed of.
    case ended
    /// The caller may not see the feature.
    case denied
    /// The feature does not exist, or there is nothing under its key.
    case missing
    case reset(reason: String, labelsLost: Bool)
    /// The next states belong to another session, or to another log of this one.
    case forgotten
}

/// The progress of an intent. Its store notes it before the next intent is sent.
enum IntentProgress: Sendable, Equatable {
    /// An attempt begins.
    case sent
    /// The server refused the attempt without running it.
    case unsent
    /// The server committed it; the version is nil if the store is not watched.
    case answered(version: UInt64?)
    case failed(RemoteError)
    /// Its caller was canceled. From ``ClientCore`` itself, as the case before.
    case canceled
}

/// A label as it was received.
struct StreamLabel: Sendable, Equatable {
    var id: String
    var version: UInt64
    var intent: String?
    var isReplay: Bool
    /// The time of the client's clock at which its life ends; nil if the server did not tell.
    var end: Duration? = nil
    /// The label as JSON.
    var label: [UInt8]
}
