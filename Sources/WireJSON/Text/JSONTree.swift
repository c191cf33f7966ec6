/// A JSON value for conversions between this codec and another one. Integers of up to 64 bits are exact.
private enum JSONTree: Codable {
    case null
    case bool(Bool)
    case negative(Int64)
    case natural(UInt64)
    case real(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .natural(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .negative(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else {
            // Decoded as a dictionary, so that key strategies of the other codec do not change the names.
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .negative(let value): try container.encode(value)
        case .natural(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

/// Conversions for types whose JSON is the same with each codec: their `init(from:)` tests for other codecs.
extension WireJSON {
    package static func isOther(_ decoder: any Decoder) -> Bool { !(decoder is ValueDecoder) }

    /// Encodes a JSON text. It is written with the user info of an encoder of this module.
    ///
    /// - Throws: `EncodingError`.
    package static func encode(
        to encoder: any Encoder,
        _ text: (_ userInfo: [CodingUserInfoKey: any Sendable]) throws(WireEncodingError) -> [UInt8]
    ) throws {
        let own = encoder as? ValueEncoder
        let json: [UInt8]
        do throws(WireEncodingError) { json = try text(own?.session.userInfo ?? [:]) } catch { throw error.thrown }
        guard let own else { return try decode(JSONTree.self, from: json).encode(to: encoder) }
        try own.session.beginSingle(of: own)
        own.session.bytes += json
    }

    /// Decodes from another decoder, in the form that ``decode(_:from:limits:)`` reads.
    ///
    /// - Throws: `DecodingError`.
    package static func decode<T: Decodable>(_ type: T.Type, from decoder: any Decoder) throws -> T {
        let json = try encode(try JSONTree(from: decoder))
        do throws(WireDecodingError) {
            return try decode(type, from: json)
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "\(error)"))
        }
    }
}
