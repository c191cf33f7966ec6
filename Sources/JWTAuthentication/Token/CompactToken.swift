import MVI
import MVIServer
import WireJSON

/// A signed token in its compact form, taken apart (RFC 7515 section 3.1). Nothing of it is proven yet.
struct CompactToken {
    /// Bytes of a token at most.
    static let longest = 16 * 1024

    /// The header's members.
    let header: [ClaimName: ClaimValue]
    /// The signed bytes: header and payload as sent.
    let signedBytes: ArraySlice<UInt8>
    let signature: [UInt8]
    /// The payload as it was sent.
    private let payload: ArraySlice<UInt8>

    init(_ text: String) throws(AuthenticationError) {
        guard text.utf8.count <= Self.longest else {
            throw AuthenticationError(.rejected, "The JWT is longer than \(Self.longest) bytes.")
        }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw AuthenticationError(
                .rejected,
                parts.count == 5
                    ? "The JWT is encrypted; it must be signed only." : "The identity is not a JWT of three parts.")
        }
        guard !parts[2].isEmpty else { throw AuthenticationError(.rejected, "The JWT is not signed.") }
        guard let signature = Base64URLText.decode(parts[2]) else {
            throw AuthenticationError(.rejected, "The JWT's signature is not base64url.")
        }
        header = try Self.members(parts[0], "header")
        payload = parts[1]
        signedBytes = bytes[..<parts[1].endIndex]
        self.signature = signature
    }

    /// The payload's members. Read them after the signature was found good.
    func claims() throws(AuthenticationError) -> [ClaimName: ClaimValue] { try Self.members(payload, "payload") }

    /// A JSON object; a member that is there twice, also by Unicode's rules only, is refused, since readers differ in which
    /// one counts (RFC 8725 section 2.4).
    private static func members(
        _ text: ArraySlice<UInt8>, _ name: String
    ) throws(AuthenticationError) -> [ClaimName: ClaimValue] {
        guard let bytes = Base64URLText.decode(text) else {
            throw AuthenticationError(.rejected, "The JWT's \(name) is not base64url.")
        }
        let value: ClaimValue
        do throws(WireDecodingError) {
            value = try WireJSON.decode(ClaimValue.self, from: bytes, limits: WireLimits(maximumDepth: 32))
        } catch .malformed(_, let reason) {
            // The reason names no part of the token.
            throw AuthenticationError(.rejected, "The JWT's \(name) is not good JSON: \(reason).")
        } catch {
            throw AuthenticationError(.rejected, "The JWT's \(name) is not a JSON object.")
        }
        guard !value.hasEquivalentNames else {
            throw AuthenticationError(
                .rejected, "The JWT's \(name) has two members whose names Unicode calls the same.")
        }
        guard case .object(let members) = value else {
            throw AuthenticationError(.rejected, "The JWT's \(name) is not a JSON object.")
        }
        return members
    }
}

extension ClaimValue {
    /// True if an object in it has two names that are equal by Unicode's rules, by which types with `String` members
    /// compare.
    fileprivate var hasEquivalentNames: Bool {
        switch self {
        case .object(let members):
            Set(members.keys.lazy.map(\.text)).count < members.count
                || members.values.contains { $0.hasEquivalentNames }
        case .array(let values): values.contains { $0.hasEquivalentNames }
        case .null, .bool, .integer, .number, .string: false
        }
    }
}
