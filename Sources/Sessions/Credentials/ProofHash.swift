import Crypto

/// What a proof of an identity is known by, without being kept: its SHA-256.
package enum ProofHash {
    /// 32 bytes.
    package static func of(_ proof: String) -> [UInt8] { Array(SHA256.hash(data: Array(proof.utf8))) }
}
