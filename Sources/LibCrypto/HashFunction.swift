/// A hash function that a code or a signature is made with.
package enum HashFunction: Sendable {
    case sha256, sha384, sha512

    /// OpenSSL's name of it.
    var name: String {
        switch self {
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }

    /// How many bytes a digest has.
    var size: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}
