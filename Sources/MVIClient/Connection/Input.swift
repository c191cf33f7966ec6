/// An input of a ``ClientConnection``.
enum Input: Sendable {
    case watch(String)
    case unwatch(String)
    case send(PendingIntent)
    /// The caller of `send` does not wait any longer.
    case cancelIntent(UInt64)
    case online(Bool)
    case foreground
    /// The app has another identity now.
    ///
    /// - Parameter keepsStores: whether the stores of an anonymous session stay.
    case signIn(keepsStores: Bool = true)
    case renewSession
    case close

    /// The storage's answer.
    case credential(Result<String?, CredentialFailure>)
    /// The identity callback's answer.
    case identity(String?)

    case head(ExchangeID, HTTPAnswer)
    case bytes(ExchangeID, [UInt8])
    /// The answer is complete, or was cut.
    case end(ExchangeID, TransportFailure?)

    /// Time has passed.
    case tick
}

/// The credential storage cannot be read now.
struct CredentialFailure: Error {}

/// The reason for which a request has no complete answer.
struct TransportFailure: Error, Sendable, Equatable {
    /// True if the server may have got the request.
    var mayHaveReached = true
    var message = ""
}
