/// A hash function for a code or a signature.
package enum HashFunction: Sendable {
    case sha256, sha384, sha512

    /// OpenSSL's name.
    var name: String {
        switch self {
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }

    /// The size of a digest in bytes.
    var size: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}
