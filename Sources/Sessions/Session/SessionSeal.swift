import EventStream
import LibCrypto
import MVI
import SessionJournal

/// Creates tokens that prove themselves, so that a session without a turn need not be stored: its token names it until
/// its lifetime is over, after a restart and on every node with the same journal.
///
/// The proof is 5 bytes of time, one of kind, and 16 of an HMAC (RFC 2104) over these, the token's hash and the client's
/// settings. The session's id and epoch follow from the hash.
struct SessionSeal: Sendable {
    /// The content of a token.
    struct Claim {
        let credential: SessionCredential
        /// The end of the session's lifetime without a turn: time since 1970 in whole seconds.
        let until: Duration
        /// The key that proves it.
        let key: HMACKey
    }

    private static let proofSize = 22
    private static let claimSize = 6

    /// The key that proves new tokens.
    let key: HMACKey
    /// All keys, each with the latest expiry that it may prove.
    private let keys: [(key: HMACKey, until: Duration)]
    /// The generation of the journal's secret, from which epochs follow.
    let generation: [UInt8]

    /// - Parameter now: time since 1970.
    init(_ secret: JournalSecret, now: Duration) {
        key = HMACKey(secret.provingKey(at: now))
        let former = secret.formerKeys.map { (HMACKey($0.key), $0.until) }
        keys = [(HMACKey(secret.key), .seconds(Int64.max))] + former
        generation = secret.generation
    }

    /// Creates a token. `until` is rounded up to seconds.
    func token(_ credential: SessionCredential, until: Duration, _ settings: ClientSettings? = nil) -> SessionToken {
        let (seconds, rest) = until.components
        let time = UInt64(clamping: rest > 0 ? seconds + 1 : seconds)
        var claim = (0..<5).map { UInt8(truncatingIfNeeded: time >> UInt64(32 - 8 * $0)) }
        claim.append(credential == .cookie ? 1 : 0)
        let settings = settings.map { Array($0.text.utf8) } ?? []
        return SessionToken(settings: settings) { hash in
            claim + Self.mac(claim, hash, settings, key).prefix(Self.proofSize - Self.claimSize)
        }
    }

    /// Returns the claim of a token that this server issued; nil for every other token.
    func claim(of token: SessionToken) -> Claim? {
        guard let proof = token.proof, proof.count == Self.proofSize else { return nil }
        let claim = Array(proof.prefix(Self.claimSize))
        let until: Duration = .seconds(claim.prefix(5).reduce(Int64(0)) { $0 << 8 | Int64($1) })
        for (key, end) in keys {
            // Every byte is compared, so that the duration reveals nothing.
            let difference = zip(proof.dropFirst(Self.claimSize), Self.mac(claim, token.hash, token.settings, key))
                .reduce(0) { $0 | ($1.0 ^ $1.1) }
            guard difference == 0, claim[5] <= 1, until <= end else { continue }
            return Claim(credential: claim[5] == 1 ? .cookie : .bearer, until: until, key: key)
        }
        return nil
    }

    /// Returns the record of a session that is not stored.
    ///
    /// - Parameter life: the lifetime of a session after its last use.
    func record(_ token: SessionToken, _ claim: Claim, life: Duration) -> SessionRecord {
        let hash = token.hash
        let made = claim.until - life
        return SessionRecord(
            // The lifetime is part of the name, since tombstones depend on it: a log that began anew has another name.
            id: Self.name("id", hash, claim.key), tokenHash: hash,
            epoch: Self.name("epoch \(life.components.seconds)", hash, claim.key, generation),
            credential: claim.credential, created: made, lastSeen: made,
            settings: ClientSettings(text: String(decoding: token.settings, as: UTF8.self)))
    }

    private static func mac(
        _ claim: [UInt8], _ hash: TokenHash, _ settings: [UInt8], _ key: HMACKey
    ) -> [UInt8] {
        key.code(for: Array("token".utf8) + claim + hash.bytes + settings)
    }

    private static func name(
        _ purpose: String, _ hash: TokenHash, _ key: HMACKey, _ more: [UInt8] = []
    ) -> String {
        let code = key.code(for: Array(purpose.utf8) + more + hash.bytes)
        return Epoch.name(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}

extension SessionSeal {
    /// Returns the token that replaces another one at a sign-in. It follows from the old token and the proof, so that a
    /// repeated sign-in gets the same answer. The old token's random bits are not stored: a copy of the journal does
    /// not suffice to compute it.
    func successor(of token: SessionToken, proof: [UInt8]) -> SessionToken {
        SessionToken(random: key.code(for: Array("successor".utf8) + token.random + proof))
    }
}

extension TokenHash {
    /// Returns the hash of a token that no client has: the name of a session whose clients all have credentials.
    static func random() -> TokenHash { SessionToken.random().hash }
}

/// A session that was created for a client. It exists only in its token.
package struct NewSession: Sendable {
    package let id: String
    package let token: SessionToken
    package let credential: SessionCredential
    /// The time since 1970 at which it expires without further use.
    package let expiresAt: Duration

    package init(id: String, token: SessionToken, credential: SessionCredential, expiresAt: Duration) {
        (self.id, self.token, self.credential, self.expiresAt) = (id, token, credential, expiresAt)
    }
}
