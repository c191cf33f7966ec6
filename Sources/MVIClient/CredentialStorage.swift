import Locking

/// The storage for the credential of a session, so that the session continues at the next start of the app.
///
/// The credential is a secret; on Apple platforms, store it in the keychain. The functions are called one at a time.
public protocol CredentialStorage: Sendable {
    /// Returns the credential that was saved last; nil if there is none. Called before the first request.
    ///
    /// Throws if the storage cannot be read at present, such as a keychain before the first unlock. No session is
    /// created then, and the call is repeated later.
    func load() async throws -> String?
    /// Saves a credential; nil removes the stored one. Errors are reported and ignored.
    func save(_ credential: String?) async throws
}

/// Stores the credential until the process ends.
public final class MemoryCredentialStorage: CredentialStorage {
    private let credential: Lock<String?>

    /// Creates a storage.
    public init(_ credential: String? = nil) { self.credential = Lock(credential) }

    public func load() async -> String? { credential.withLock { $0 } }

    public func save(_ credential: String?) async { self.credential.withLock { $0 = credential } }
}
