import RFC3339

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A type whose own `Codable` conformance writes its storage. It is one text or number here, which other languages
/// know.
///
/// Earlier versions wrote the storage of all but `UUID`; stored values may contain it.
protocol ScalarValue: Codable {
    /// - Throws: `EncodingError` if the value has no such text or number.
    func encodeScalar(to encoder: ValueEncoder) throws
    /// - Throws: `DecodingError`.
    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> Self
}

enum ScalarTypes {
    /// Returns true for the types that conform to ``ScalarValue``. Called for each value that is not one of the standard
    /// library's, and cheaper than a cast.
    @inline(__always)
    static func contains(_ type: any Any.Type) -> Bool {
        let id = ObjectIdentifier(type)
        return id == ObjectIdentifier(UUID.self) || id == ObjectIdentifier(Date.self)
            || id == ObjectIdentifier(Duration.self) || id == ObjectIdentifier(Decimal.self)
            || id == ObjectIdentifier(URL.self) || id == ObjectIdentifier(Data.self)
    }
}

extension ScalarValue {
    /// Decodes the storage that earlier versions wrote; nil if the node is something else.
    static func decodeStorage(at node: Int, in session: DecodingSession) -> Self? {
        try? Self(from: ValueDecoder(session: session, node: node, owner: Self.self))
    }
}

/// Lower case, as other languages write it, so that a client finds the id that it sent (RFC 9562 section 4).
extension UUID: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws { try encoder.encode(uuidString.lowercased()) }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> UUID {
        guard let id = UUID(uuidString: try session.string(node)) else {
            throw session.corrupted(node, "expected a UUID")
        }
        return id
    }
}

/// Its text. A text with characters that a URL cannot contain is refused, since `URL` would replace them.
extension URL: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws { try encoder.encode(absoluteString) }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> URL {
        if session.kind(node) == .object, let url = decodeStorage(at: node, in: session) { return url }
        guard let url = URL(string: try session.string(node), encodingInvalidCharacters: false) else {
            throw session.corrupted(node, "expected a URL")
        }
        return url
    }
}

/// Text in Base64 (RFC 4648 section 4).
extension Data: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws { try encoder.encode(base64EncodedString()) }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> Data {
        if session.isStored, session.kind(node) == .array, let data = decodeStorage(at: node, in: session) {
            return data
        }
        guard let data = Data(base64Encoded: try session.string(node)) else {
            throw session.corrupted(node, "expected Base64")
        }
        return data
    }
}

/// RFC 3339 text in UTC with milliseconds.
extension Date: ScalarValue {
    func encodeScalar(to encoder: ValueEncoder) throws {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        guard let count = Int64(exactly: milliseconds) else { throw encoder.session.error(Self.outOfRange).thrown }
        let seconds = count.flooredDivision(by: 1_000)
        guard RFC3339.seconds.contains(seconds) else { throw encoder.session.error(Self.outOfRange).thrown }
        try encoder.encode(RFC3339.text(seconds: seconds, milliseconds: count - seconds * 1_000))
    }

    static func decodeScalar(at node: Int, in session: DecodingSession) throws -> Date {
        // In a client's intent a number may count from another year.
        if session.isStored, session.kind(node) == .integer || session.kind(node) == .real,
            let date = decodeStorage(at: node, in: session)
        {
            return date
        }
        guard let (seconds, nanoseconds) = RFC3339.parse(Substring(try session.string(node))) else {
            throw session.corrupted(node, "a time is written as 2026-01-31T23:59:59Z")
        }
        return Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
    }

    private static let outOfRange = "a time must be in the years 0000 to 9999; use an optional for one that never comes"
}
