import MVI
import MVIServer

/// The rules for the claims of a token whose signature is valid (RFC 7519 section 4.1).
package struct ClaimRules: Sendable {
    let issuer: String
    let audiences: [String]
    let leeway: Duration

    package init(issuer: String, audiences: [String], leeway: Duration) {
        (self.issuer, self.audiences) = (issuer, audiences)
        self.leeway = min(max(leeway, .zero), .seconds(300))
    }

    /// Checks the claims and returns their principal.
    package func principal(_ claims: [ClaimName: ClaimValue], now: Timestamp) throws(AuthenticationError) -> Principal {
        guard let issuer = claims["iss"]?.string, same(issuer, self.issuer) else {
            throw AuthenticationError(.rejected, "The JWT's 'iss' is not the issuer that this server trusts.")
        }
        guard names(claims["aud"]).contains(where: { name in audiences.contains { same($0, name) } }) else {
            throw AuthenticationError(.rejected, "The JWT's 'aud' does not name this server.")
        }
        guard let subject = claims["sub"]?.string, !subject.isEmpty else {
            throw AuthenticationError(.rejected, "The JWT has no 'sub'.")
        }
        let expiry = try expiry(claims, now: now)
        return Principal(issuer: issuer, subject: subject, claims: claims, expiry: expiry)
    }

    private func expiry(_ claims: [ClaimName: ClaimValue], now: Timestamp) throws(AuthenticationError) -> Timestamp {
        guard let expiry = try time("exp", claims) else {
            throw AuthenticationError(.rejected, "The JWT has no 'exp'.")
        }
        for name in ["nbf", "iat"] as [ClaimName] {
            guard let begin = try time(name, claims), begin > now + leeway else { continue }
            throw AuthenticationError(.rejected, "The JWT's '\(name)' is in the future.")
        }
        // The principal has the leeway too; otherwise it could expire as soon as it is signed in.
        let end = min(expiry + leeway, Timestamp(sinceEpoch: .seconds(Self.lastSecond)))
        guard now < end else { throw AuthenticationError(.expired, "The JWT has expired.") }
        return end
    }

    /// Returns a NumericDate: seconds since 1970, possibly with a fraction (section 2); nil if there is none.
    private func time(_ name: ClaimName, _ claims: [ClaimName: ClaimValue]) throws(AuthenticationError) -> Timestamp? {
        switch claims[name] {
        case nil: return nil
        case .integer(let seconds) where (0...Self.lastSecond).contains(seconds):
            return Timestamp(sinceEpoch: .seconds(seconds))
        case .number(let seconds) where (0...Double(Self.lastSecond)).contains(seconds):
            return Timestamp(sinceEpoch: .seconds(seconds))
        default: throw AuthenticationError(.rejected, "The JWT's '\(name)' is not a time in seconds since 1970.")
        }
    }

    /// The last second in the format of RFC 3339: the end of the year 9999.
    private static let lastSecond = 253_402_300_799

    /// Returns the names in `aud`: one name, or a list of names.
    private func names(_ audience: ClaimValue?) -> [String] {
        switch audience {
        case .string(let name): [name]
        case .array(let values): values.compactMap(\.string)
        default: []
        }
    }

    /// Compares byte by byte (section 2, StringOrURI): Swift's `==` treats canonically equivalent texts as equal.
    private func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}
