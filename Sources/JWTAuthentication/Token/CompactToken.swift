import MVI
import MVIServer
import WireJSON

/// The parts of a signed token in its compact form (RFC 7515 section 3.1), not yet verified.
package struct CompactToken {
    /// The largest number of bytes of a token.
    static let longest = 16 * 1024

    package let header: [ClaimName: ClaimValue]
    /// The signed bytes: header and payload as they were sent.
    let signedBytes: ArraySlice<UInt8>
    let signature: [UInt8]
    /// The payload as it was sent.
    private let payload: ArraySlice<UInt8>

    package init(_ text: String) throws(AuthenticationError) {
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

    /// Returns the payload's members. Call it after the signature was verified.
    package func claims() throws(AuthenticationError) -> [ClaimName: ClaimValue] {
        try Self.members(payload, "payload")
    }

    /// Parses a JSON object. A repeated member is refused, including one that is only equivalent by Unicode's rules,
    /// since readers differ in which one counts (RFC 8725 section 2.4).
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
            // The reason contains no part of the token.
            throw AuthenticationError(.rejected, "The JWT's \(name) is not valid JSON: \(reason).")
        } catch {
            throw AuthenticationError(.rejected, "The JWT's \(name) is not a JSON object.")
        }
        guard !value.hasEquivalentNames else {
            throw AuthenticationError(
                .rejected, "The JWT's \(name) has two members with equivalent names in Unicode.")
        }
        guard case .object(let members) = value else {
            throw AuthenticationError(.rejected, "The JWT's \(name) is not a JSON object.")
        }
        return members
    }
}

extension ClaimValue {
    /// True if an object in it has two names that are equivalent by Unicode's rules: types with members by `String`
    /// would treat them as one.
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
