/// An input of a ``ClientConnection``.
enum Input: Sendable {
    case watch(String)
    case unwatch(String)
    case send(PendingIntent)
    /// The caller of `send` no longer waits.
    case cancelIntent(UInt64)
    /// The intents that an earlier run of the app kept; nil if the storage cannot be read.
    ///
    /// - Parameter wallTime: the time since 1970.
    case restore([PendingIntent]?, wallTime: Duration)
    case online(Bool)
    case foreground
    /// The app has a new identity.
    ///
    /// - Parameter keepsStores: true to keep the stores of an anonymous session.
    case signIn(keepsStores: Bool = true)
    case renewSession
    case close

    /// The answer of the credential storage.
    case credential(Result<String?, CredentialFailure>)
    /// The answer of the identity callback.
    case identity(String?)

    case head(ExchangeID, HTTPAnswer)
    case bytes(ExchangeID, [UInt8])
    /// The answer is complete, or the connection failed.
    case end(ExchangeID, TransportFailure?)

    /// Time has passed.
    case tick
}

/// The credential storage cannot be read now.
struct CredentialFailure: Error {}

/// The error of a request without a whole answer.
struct TransportFailure: Error, Sendable, Equatable {
    /// True if the server may have received the request.
    var mayHaveReached = true
    var message = ""
}
