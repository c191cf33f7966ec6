import WireJSON

/// A part of a JSON Schema of ``JSONSchema``, as it was read.
final class SchemaNode: Decodable, Sendable {
    /// One text or several: `"type": ["string", "null"]`.
    struct Names: Decodable, Sendable {
        let all: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let one = try? container.decode(String.self) {
                all = [one]
            } else {
                all = try container.decode([String].self)
            }
        }
    }

    /// A value of an enum, as text.
    struct Literal: Decodable, Sendable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int64.self) {
                text = "\(number)"
            } else {
                text = "\"\(try container.decode(String.self))\""
            }
        }
    }

    let reference: String?
    let type: Names?
    let format: String?
    let minimum: Int64?
    let maximum: Int64?
    let properties: [String: SchemaNode]?
    let required: [String]?
    let items: SchemaNode?
    let additionalProperties: SchemaNode?
    let oneOf: [SchemaNode]?
    let anyOf: [SchemaNode]?
    let not: SchemaNode?
    let const: String?
    let values: [Literal]?

    private enum CodingKeys: String, CodingKey {
        case reference = "$ref"
        case values = "enum"
        case type, format, minimum, maximum, properties, required, items, additionalProperties, oneOf, anyOf, not, const
    }
}

/// The schemas of a server's features, as `schema` prints them.
package struct SchemaDocuments: Sendable {
    struct Feature: Decodable, Sendable {
        let isKeyed: Bool?
        let definitions: [String: SchemaNode]

        private enum CodingKeys: String, CodingKey {
            case isKeyed = "x-keyed"
            case definitions = "$defs"
        }
    }

    let features: [String: Feature]

    /// Reads a document of all features.
    package init(_ text: String) throws {
        features = try WireJSON.decode([String: Feature].self, from: Array(text.utf8))
    }
}
