import MVI
import Networks

/// The client that a request is of. It is judged whenever the request acts: it may have lost its access meanwhile.
package struct SessionClient: Sendable {
    /// Nil for the token that the session began with: it is good as long as no client has signed in.
    package let credential: Credential?
    /// The principal of a client without a credential, in tests of features.
    private let given: Principal?
    /// Whose network shares what is bounded; nil for a client in this process.
    let address: PeerAddress?

    /// A client with a credential, or an anonymous one.
    package init(_ credential: Credential? = nil, principal: Principal? = nil, address: PeerAddress? = nil) {
        (self.credential, given, self.address) = (credential, principal, address)
    }

    /// Its principal now; nil for an anonymous client.
    package var principal: Principal? { credential?.principal ?? given }

    /// A client's own name for something, inside its credential where several share a session. No client can write the
    /// character between.
    func scoped(_ name: String) -> String {
        guard let credential, credential.isOneOfMany else { return name }
        return "\(credential.number)\u{1F}\(name)"
    }
}
