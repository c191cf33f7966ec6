import Locking

/// A storage of the session's credential across starts of the app.
///
/// The text is a secret: on Apple's systems it belongs into the keychain. The functions are called one at a time.
public protocol CredentialStorage: Sendable {
    /// The credential that was saved last; nil if there is none. Called once, before the first request.
    ///
    /// A throw means that the storage cannot be read at the moment, such as a keychain before the first unlock: no
    /// session is made then, and the call is repeated later.
    func load() async throws -> String?
    /// Keeps a credential; nil removes the one that is kept. A throw is reported, and the client goes on.
    func save(_ credential: String?) async throws
}

/// Keeps the credential as long as the process runs.
public final class MemoryCredentialStorage: CredentialStorage {
    private let credential: Lock<String?>

    /// A storage with a credential, or an empty one.
    public init(_ credential: String? = nil) { self.credential = Lock(credential) }

    public func load() async -> String? { credential.withLock { $0 } }

    public func save(_ credential: String?) async { self.credential.withLock { $0 = credential } }
}
