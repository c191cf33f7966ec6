import Crypto
import SessionJournal

extension SessionSeal {
    /// The token that takes another's place when a client signs in. It follows from the old token and the proof, so that the
    /// request that signs in is answered the same when its answer was lost and it is repeated. The old token's random bits
    /// are in no row: a copy of the journal does not suffice to compute it.
    func successor(of token: SessionToken, proof: [UInt8]) -> SessionToken {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("successor".utf8) + token.random + proof, using: key)
        return SessionToken(random: Array(code))
    }
}

extension TokenHash {
    /// Of a token that nobody has: the name of a session to which every client has a credential of its own.
    static func random() -> TokenHash { SessionToken.random().hash }
}
