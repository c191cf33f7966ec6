/// A signed-in caller: an issuer's statement about a subject, accepted by an authenticator.
///
/// An intent keeps the principal that it was accepted with: its checks, its turn, repeated runs of the turn and the
/// work that it launches have the same one.
public struct Principal: Sendable {
    private final class Content: Sendable {
        let subject: Subject
        let claims: [ClaimName: ClaimValue]
        let expiry: Timestamp?
        let credential: Int?

        init(_ subject: Subject, _ claims: [ClaimName: ClaimValue], _ expiry: Timestamp?, credential: Int? = nil) {
            (self.subject, self.claims, self.expiry, self.credential) = (subject, claims, expiry, credential)
        }
    }

    private let content: Content

    /// Creates a principal.
    ///
    /// - Parameters:
    ///   - issuer: the issuer of the statement, such as the `iss` of a JWT (RFC 7519 section 4.1.1).
    ///   - subject: the issuer's unique name for the person, such as the `sub` of a JWT.
    ///   - claims: the other claims of the issuer.
    ///   - expiry: the end of the validity; nil if it lasts as long as the session.
    public init(
        issuer: String = "", subject: String, claims: [ClaimName: ClaimValue] = [:], expiry: Timestamp? = nil
    ) {
        content = Content(Subject(issuer: issuer, id: subject), claims, expiry)
    }

    private init(_ content: Content) { self.content = content }

    /// The number of the session's credential that the principal belongs to; nil outside a session. It is neither
    /// compared nor encoded.
    package var credential: Int? { content.credential }

    /// Returns the same principal for a credential of a session.
    package func of(credential: Int) -> Principal {
        Principal(Content(content.subject, content.claims, content.expiry, credential: credential))
    }

    /// The issuer of the statement.
    public var issuer: String { content.subject.issuer }
    /// The issuer's unique name for the person.
    public var subject: String { content.subject.id }
    /// The issuer and the subject, which together identify a user globally.
    public var identity: Subject { content.subject }
    /// The other claims of the issuer.
    public var claims: [ClaimName: ClaimValue] { content.claims }
    /// The end of the validity; nil if it lasts as long as the session.
    public var expiry: Timestamp? { content.expiry }

    /// Returns a claim, or nil if there is none with exactly these bytes: `principal.claim("tier") == "premium"`.
    public func claim(_ name: String) -> ClaimValue? { content.claims[ClaimName(name)] }

    /// Decodes the claims into a type of the application. Throws `DecodingError`.
    public func claims<T: Decodable>(as type: T.Type) throws -> T {
        try T(from: ClaimDecoder(.object(content.claims)))
    }

    /// Returns true if the validity has ended.
    public func hasExpired(at now: Timestamp) -> Bool { content.expiry.map { $0 <= now } ?? false }
}

extension Principal: Hashable {
    public static func == (left: Principal, right: Principal) -> Bool {
        left.content === right.content
            || left.identity == right.identity && left.expiry == right.expiry && left.claims == right.claims
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(expiry)
    }
}

extension Principal: Codable {
    private enum Key: String, CodingKey { case issuer, subject, claims, expiry }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard case .object(let claims) = try container.decode(ClaimValue.self, forKey: .claims) else {
            throw DecodingError.dataCorruptedError(
                forKey: .claims, in: container, debugDescription: "The claims are not an object.")
        }
        self.init(
            issuer: try container.decode(String.self, forKey: .issuer),
            subject: try container.decode(String.self, forKey: .subject), claims: claims,
            expiry: try container.decodeIfPresent(Timestamp.self, forKey: .expiry))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(issuer, forKey: .issuer)
        try container.encode(subject, forKey: .subject)
        try container.encode(ClaimValue.object(claims), forKey: .claims)
        try container.encodeIfPresent(expiry, forKey: .expiry)
    }
}

/// The global name of a user: an issuer and its id for the user.
public struct Subject: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The issuer of the id.
    public let issuer: String
    /// The id, unique at the issuer.
    public let id: String

    /// Creates a subject.
    public init(issuer: String, id: String) {
        self.issuer = issuer
        self.id = id
    }

    // Compared by bytes: ids that look alike, such as an é of one character and one of two, are different users.
    public static func == (left: Subject, right: Subject) -> Bool {
        left.id.utf8.elementsEqual(right.id.utf8) && left.issuer.utf8.elementsEqual(right.issuer.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytesOf: issuer)
        hasher.combine(bytesOf: id)
    }

    /// The id with its issuer.
    public var description: String { issuer.isEmpty ? id : "\(id) (\(issuer))" }
}
