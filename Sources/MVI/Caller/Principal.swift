/// A signed-in caller: an issuer's statement about a subject that an authenticator accepted.
///
/// Fixed for an intent when that is accepted: its checks, its turn, a turn that runs again and the work that it launches
/// have the same one.
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

    // One reference: turns carry it along.
    private let content: Content

    /// A principal of its parts.
    ///
    /// - Parameters:
    ///   - issuer: who says so, such as the `iss` of a JWT (RFC 7519 section 4.1.1).
    ///   - subject: whom it is about, unique at the issuer, such as a JWT's `sub`.
    ///   - claims: what else the issuer says.
    ///   - expiry: until when it holds; nil for as long as the session lives.
    public init(
        issuer: String = "", subject: String, claims: [ClaimName: ClaimValue] = [:], expiry: Timestamp? = nil
    ) {
        content = Content(Subject(issuer: issuer, id: subject), claims, expiry)
    }

    private init(_ content: Content) { self.content = content }

    /// The number of the session's credential whose principal it is; nil outside a session. Equal principals may differ
    /// in it, and it is not encoded.
    package var credential: Int? { content.credential }

    /// The same principal as that of a session's credential.
    package func of(credential: Int) -> Principal {
        Principal(Content(content.subject, content.claims, content.expiry, credential: credential))
    }

    /// The issuer of the statement.
    public var issuer: String { content.subject.issuer }
    /// The subject's id, unique at the issuer.
    public var subject: String { content.subject.id }
    /// Both: what names a user in all of the world.
    public var identity: Subject { content.subject }
    /// The issuer's further statements.
    public var claims: [ClaimName: ClaimValue] { content.claims }
    /// Until when it holds; nil for as long as the session lives.
    public var expiry: Timestamp? { content.expiry }

    /// One claim; nil if there is none of that name, byte for byte: `principal.claim("tier") == "premium"`.
    public func claim(_ name: String) -> ClaimValue? { content.claims[ClaimName(name)] }

    /// The claims as a type of the author's. Throws `DecodingError`.
    public func claims<T: Decodable>(as type: T.Type) throws -> T {
        try T(from: ClaimDecoder(.object(content.claims)))
    }

    /// Returns true if its time is over.
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

/// The name of a user: an issuer and its id for the user.
public struct Subject: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The issuer of the id.
    public let issuer: String
    /// Unique at the issuer.
    public let id: String

    /// A subject of its parts.
    public init(issuer: String, id: String) {
        self.issuer = issuer
        self.id = id
    }

    // By bytes: two ids that look the same, such as an é of one character and one of two, are two users.
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
