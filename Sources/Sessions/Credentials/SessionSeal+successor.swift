import Crypto
import SessionJournal

extension SessionSeal {
    /// The token that takes another's place when somebody signs in. It follows from both, so that the request that signs
    /// in is answered the same when its answer was lost and it is repeated. Who does not know the journal's key cannot
    /// make it.
    func successor(of token: TokenHash, proof: [UInt8]) -> SessionToken {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("successor".utf8) + token.bytes + proof, using: key)
        return SessionToken(random: Array(code))
    }
}

extension TokenHash {
    /// Of a token that nobody has: the name of a session to which every client has a credential of its own.
    static func random() -> TokenHash { SessionToken.random().hash }
}
